import { runGit } from '../process/run-git.ts';
import type { GitPlace } from '../process/spawn-git.ts';
import { noteMarked } from './copied-files.ts';
import type { ConflictStage } from './tree-merger.ts';

/**
 * Marks files of a work tree as conflicts of a merge, as `git status` shows them, and leaves its files as they are. `git add`
 * or `git rm` of a file resolves its conflict, and for uwf so does a file without the marks of a conflict: agents need no git.
 *
 * @param git the work tree; the repository must have the objects
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-update-index(1), "USING --INDEX-INFO".
 */
export async function markConflicts(git: GitPlace, stages: readonly ConflictStage[]): Promise<void> {
  if (stages.length === 0) return;
  const removed = new Map(stages.map(({ path, id }) => [path, `0 ${'0'.repeat(id.length)}\t${path}\0`]));
  const added = stages.map(({ mode, id, stage, path }) => `${mode} ${id} ${stage}\t${path}\0`);
  const input = Buffer.from([...removed.values(), ...added].join(''), 'latin1');
  noteMarked(git.location, [...removed.keys()]);
  await runGit({ ...git, args: ['update-index', '-z', '--index-info'], input });
}
