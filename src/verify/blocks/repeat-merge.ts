import { isDeepStrictEqual } from 'node:util';
import { UwfError } from '../../errors.ts';
import type { GitEnvironment, Repository } from '../../git/repository.ts';
import type { CommitOf } from '../../thread/thread-state.ts';

/** The result of repeating a merge: a fault, or why it could not be repeated. Neither: it is as recorded. */
export type RepeatedMerge = { fault?: string; unchecked?: string };

/** A merge that takes longer is not compared. */
const MAX_MERGE_MS = 60_000;

/**
 * Merges again what the step of a block says was merged by git alone, and compares the tree and the conflicts.
 *
 * Not comparable is a merge in which a driver of a machine had a part; one that another version of git makes otherwise; one
 * whose step secrets were taken out of since, if it differs; and any if this machine's git cannot merge so.
 * @param step a step with a merge; its record was checked
 * @throws {UwfError} of kind `data` if objects of it are missing or damaged
 */
export async function repeatMergeOf(
  repository: Repository,
  env: GitEnvironment,
  { node: { merge, meta, workspace, redacted } }: CommitOf<'step'>,
): Promise<RepeatedMerge> {
  if (merge === undefined || workspace === undefined) return {};
  if (!merge.isRepeatable) return { unchecked: 'a merge driver of the machine had a part in it' };
  const signal = AbortSignal.timeout(MAX_MERGE_MS);
  const { repeatMerge } = await import('../../git/worktree/merge-trees.ts');
  const { base, branches } = merge;
  try {
    const again = await repeatMerge({ repository, env, signal }, base, base, branches);
    const conflicts = again.conflicts.map(({ path, kind, keys }) => ({ path, kind, keys: [...keys] }));
    const isSame = again.tree === workspace.tree && isDeepStrictEqual(conflicts, meta['conflicts'] ?? []);
    if (isSame) return {};
    if (again.gitVersion !== merge.git) {
      return { unchecked: `git ${merge.git} made it, and git ${again.gitVersion} merges otherwise` };
    }
    if (redacted !== undefined) return { unchecked: 'secrets were taken out of its files' };
    return again.tree === workspace.tree
      ? { fault: 'its conflicts are not those that git gives for its merge' }
      : { fault: `its files are ${workspace.tree}; merged again they are ${again.tree}` };
  } catch (error) {
    if (signal.aborted) return { unchecked: `it takes more than ${MAX_MERGE_MS / 1000} s` };
    if (error instanceof UwfError && error.kind !== 'data') return { unchecked: error.message };
    throw error;
  }
}
