import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { readIfThere } from '../repository/git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';

type Place = Pick<RepositoryLocation, 'gitDir'>;

/**
 * Operations of git that a person has to finish, by what is in the git folder of the work tree meanwhile, and whether commits can
 * wait that are neither in its files nor in its history.
 */
const operations = [
  ['rebase-merge', 'rebase', true],
  ['rebase-apply/applying', 'am', true],
  ['rebase-apply', 'rebase', true],
  ['MERGE_HEAD', 'merge', false],
  ['REVERT_HEAD', 'revert', false],
  ['CHERRY_PICK_HEAD', 'cherry-pick', false],
  ['sequencer', 'cherry-pick', true],
] as const;

/** What else git notes of such operations, and of a bisection, in a work tree. */
const notes = (
  'MERGE_MODE MERGE_MSG MERGE_AUTOSTASH AUTO_MERGE SQUASH_MSG REBASE_HEAD refs/rewritten refs/worktree refs/bisect ' +
  'BISECT_LOG BISECT_START BISECT_NAMES BISECT_TERMS BISECT_EXPECTED_REV BISECT_ANCESTORS_OK'
).split(' ');

/** An operation that is not finished in a work tree, by its command; `isHalfDone`: commits wait for it. */
export type Operation = { name: 'merge' | 'rebase' | 'am' | 'cherry-pick' | 'revert'; isHalfDone: boolean };

/** Finds the operation that is not finished in a work tree. */
export function findOperation({ gitDir }: Place): Operation | undefined {
  const found = operations.filter(([file]) => existsSync(join(gitDir, file)));
  const [first] = found;
  return first && { name: first[1], isHalfDone: found.some(([, , waits]) => waits) };
}

/** The commits that are being merged into the one that is checked out; none without an unfinished merge. */
export function readMerging({ gitDir }: Place): ObjectId[] {
  return [...new Set((readIfThere(join(gitDir, 'MERGE_HEAD')) ?? '').split('\n').filter(isObjectId))];
}

/**
 * Lets a work tree merge these commits, all files of which are as they ought to be, and nothing else. `git commit` finishes that.
 * File system errors come through as they are.
 */
export function setMerging({ gitDir }: Place, commits: readonly ObjectId[]): void {
  for (const name of [...operations.map(([file]) => file), ...notes])
    rmSync(join(gitDir, name), { recursive: true, force: true });
  if (commits.length === 0) return;
  writeFileSync(join(gitDir, 'MERGE_MSG'), `Merge commit ${commits.map((id) => `'${id}'`).join(', ')}\n`);
  writeFileSync(join(gitDir, 'MERGE_HEAD'), commits.map((id) => `${id}\n`).join(''));
}
