import { lstatSync, readdirSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import { orElse } from '../../or-else.ts';
import type { ObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/quote-path.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import type { GitEnvironment, Repository } from '../repository.ts';
import { asRefusal, assertUnmoved, TargetMoved, type MergeTarget } from './merge-target.ts';
import { forgetMove, noteMove } from './unfinished-move.ts';

/**
 * Moves a branch and its work tree to another commit, as a fast-forward of git does. `ORIG_HEAD` is where it was.
 *
 * First the files are written, which git does for all or none; then the branch moves if it still has the value that was read.
 * If not, the files are put back. If the process is killed in between, the next merge finishes the move.
 * @param reason for the reflog
 * @throws {TargetMoved} if the branch moved, or another one was checked out; nothing is changed then
 * @throws {UwfError} `merge-refused` if an untracked file would be overwritten; nothing is changed then
 */
export async function moveTarget(
  repository: Repository,
  env: GitEnvironment,
  target: MergeTarget,
  to: ObjectId,
  reason: string,
): Promise<void> {
  const { location, head } = target;
  const git = (...args: string[]): Promise<Buffer> => runGit({ location, env, args });
  const write = (before: ObjectId, after: ObjectId): Promise<Buffer> =>
    git('read-tree', '-m', '-u', '--no-recurse-submodules', before, after);
  // Files whose times alone have changed; the exit code tells of files that differ.
  await git('update-index', '-q', '--refresh').catch(ignoreFailure);
  await assertUnmoved(repository, target);
  noteMove(location, { head, to, reason });
  await write(head, to).catch((error: unknown) => {
    forgetMove(location);
    throw asRefusal(error);
  });
  try {
    await assertUnmoved(repository, target);
    await git('update-ref', '-m', reason, 'HEAD', to, head);
  } catch (error) {
    await write(to, head);
    forgetMove(location);
    if (error instanceof GitFailed) await assertUnmoved(repository, target);
    throw error instanceof TargetMoved ? error : asRefusal(error);
  }
  forgetMove(location);
  await git('update-ref', 'ORIG_HEAD', head);
}

function ignoreFailure(error: unknown): void {
  if (!(error instanceof GitFailed)) throw error;
}

/** Files that a commit has and another has not, and the other way round; paths in Latin-1. */
export type AddedFiles = { added: string[]; removed: ReadonlySet<string> };

/** @param git runs git where it has the objects */
export async function addedFiles(
  git: (args: readonly string[]) => Promise<Buffer>,
  from: ObjectId,
  to: ObjectId,
): Promise<AddedFiles> {
  const args = ['diff-tree', '-r', '-z', '--name-status', '--no-renames', '--diff-filter=AD', from, to];
  const fields = (await git(args)).toString('latin1').split('\0');
  const added: string[] = [];
  const removed = new Set<string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const path = fields[at + 1] ?? '';
    if (fields[at] === 'A') added.push(path);
    else removed.add(path);
  }
  return { added, removed };
}

/**
 * Checks that no file of the user's is where a tracked one would be written. git refuses to overwrite untracked files, but
 * overwrites ignored ones: a file with passwords, or a folder of packages where a link to another one comes.
 *
 * @throws {UwfError} `file-in-the-way`
 */
export function assertNoneInTheWay({ location: { workTree } }: MergeTarget, { added, removed }: AddedFiles): void {
  const top = Buffer.from(`${workTree}/`);
  // A file system may take two cases of a name for one.
  const tracked = new Set([...removed].map((path) => path.toLowerCase()));
  const at = (path: string): Buffer => Buffer.concat([top, Buffer.from(path, 'latin1')]);
  const isOwn = (path: string): boolean => {
    const found = orElse(() => lstatSync(at(path)), undefined);
    return found !== undefined && !found.isDirectory() && !tracked.has(path.toLowerCase());
  };
  const hasOwn = (path: string): boolean =>
    orElse(() => readdirSync(at(path), { encoding: 'buffer', withFileTypes: true }), []).some((entry) => {
      const inside = `${path}/${entry.name.toString('latin1')}`;
      return entry.isDirectory() ? hasOwn(inside) : isOwn(inside);
    });
  const found = added.flatMap((path) => prefixesOf(path).find(isOwn) ?? (hasOwn(path) ? [path] : []));
  if (found.length === 0) return;
  const paths = [...new Set(found)].map(pathAsText);
  throw new UwfError(`files that git does not track would be overwritten: ${paths.slice(0, 5).join(', ')}`, {
    code: 'file-in-the-way',
    kind: 'data',
    hint: 'move them away and repeat; nothing was changed',
    facts: { paths },
  });
}

function prefixesOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}
