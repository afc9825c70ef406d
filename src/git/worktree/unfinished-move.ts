import { join } from 'node:path';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { parseJson } from '../../json.ts';
import { isString, objectOf, stringThat } from '../../shape.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import type { GitPlace } from '../process/spawn-git.ts';
import { readIfThere } from '../repository/git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';

/** A move of a branch with its work tree that has begun: its files are written before the branch moves. */
export type Move = { head: ObjectId; to: ObjectId; reason: string };

const isMove = objectOf<Move>({ head: stringThat(isObjectId), to: stringThat(isObjectId), reason: isString });

/** Notes a move, so that {@link finishMove} can finish it after a kill. File system errors come through as they are. */
export function noteMove({ gitDir }: Pick<RepositoryLocation, 'gitDir'>, move: Move): void {
  mkdirSync(join(gitDir, 'uwf'), { recursive: true });
  writeFileSync(noteAt({ gitDir }), `${JSON.stringify(move)}\n`);
}

/** Forgets a move that has ended, or was undone. */
export function forgetMove(location: Pick<RepositoryLocation, 'gitDir'>): void {
  rmSync(noteAt(location), { force: true });
}

/**
 * Finishes a move whose process was killed after it had written the files and before it moved the branch: all files would pass
 * for changes of the user that are not committed. Leaves everything as it is if anything changed since.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function finishMove(git: GitPlace, head: ObjectId): Promise<void> {
  const move = parseJson(readIfThere(noteAt(git.location)) ?? '');
  if (!isMove(move)) return;
  const isSame = async (...args: string[]): Promise<boolean> =>
    runGit({ ...git, args }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof GitFailed) return false;
        throw error;
      },
    );
  const isWritten =
    move.head === head &&
    (await isSame('diff-index', '--quiet', '--ignore-submodules=all', '--cached', move.to)) &&
    (await isSame('diff-files', '--quiet', '--ignore-submodules=all'));
  if (isWritten) await runGit({ ...git, args: ['update-ref', '-m', move.reason, 'HEAD', move.to, move.head] });
  forgetMove(git.location);
}

function noteAt({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): string {
  return join(gitDir, 'uwf', 'moving');
}
