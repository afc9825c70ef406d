import { parseObjectId, type ObjectId } from '../format/object-id.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import type { GitPlace } from '../process/spawn-git.ts';
import type { MergeFolder, MergeOutcome } from './merge-folder.ts';
import { asRefusal } from './merge-target.ts';

/** How commits come into a branch: as `git merge`, `git merge --squash` with a commit, or `git rebase` does it. */
export type MergeMode = 'merge' | 'squash' | 'rebase';

/** What is merged. */
export type MergeRequest = {
  mode: MergeMode;
  /** The target's commit. */
  head: ObjectId;
  tip: ObjectId;
  /** The commit that the work began with. */
  base: ObjectId;
  /** Of the commit that a merge or a squash makes. */
  message: string;
};

/**
 * Merges in a merge folder, whose `HEAD` is at {@link mergeStart} the request.
 *
 * @throws {UwfError} `merge-refused` with git's words if git does not merge for another reason than a conflict
 */
export async function tryMerge(folder: MergeFolder, request: MergeRequest): Promise<MergeOutcome> {
  try {
    const files = await mergeThere(folder, request);
    if (files.length > 0) return { kind: 'conflict', files };
    const commit = parseObjectId((await folder.git(['rev-parse', '--verify', 'HEAD'])).toString('latin1').trim());
    return { kind: 'merged', commit };
  } catch (error) {
    throw asRefusal(error);
  }
}

/** The commit that a merge begins at: a rebase at the tip, all others at the target. */
export function mergeStart({ mode, head, tip }: MergeRequest): ObjectId {
  return mode === 'rebase' ? tip : head;
}

async function mergeThere(folder: MergeFolder, { mode, head, tip, base, message }: MergeRequest): Promise<string[]> {
  if (mode === 'merge') return folder.merging(mergeArguments(tip, message));
  if (mode === 'squash') {
    const files = await folder.merging(['merge', '--squash', '--ff', tip]);
    if (files.length > 0) return files;
    const changed = await folder.git(['diff-index', '--cached', '--name-only', '--ignore-submodules=none', head]);
    if (changed.length > 0) await folder.git(['commit', '--quiet', '--no-verify', '--file=-'], message);
    return [];
  }
  const isFromHere = await isAncestor((args) => folder.git(args), base, head);
  // Commits before the base that the branch does not have are not the thread's.
  return folder.merging(['rebase', '--quiet', '--merge', ...(isFromHere ? [head] : ['--onto', head, base])]);
}

/** The arguments of git that merge a commit. */
export function mergeArguments(tip: ObjectId, message: string): string[] {
  return ['merge', '--no-edit', '-m', message, tip];
}

/** Tells whether a commit is another, or before it. */
async function isAncestor(
  git: (args: readonly string[]) => Promise<Buffer>,
  ancestor: ObjectId,
  of: ObjectId,
): Promise<boolean> {
  try {
    await git(['merge-base', '--is-ancestor', ancestor, of]);
    return true;
  } catch (error) {
    if (error instanceof GitFailed && error.said.trim() === '') return false;
    throw error;
  }
}

/** The newest commit that two commits have in common; `undefined` for unrelated histories. */
export async function mergeBase(git: GitPlace, a: ObjectId, b: ObjectId): Promise<ObjectId | undefined> {
  try {
    return parseObjectId((await runGit({ ...git, args: ['merge-base', a, b] })).toString('latin1').trim());
  } catch (error) {
    if (error instanceof GitFailed && error.said.trim() === '') return undefined;
    throw error;
  }
}
