import type { BlockTurn } from './prepare-block.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { mergeAll, type MergeConflict } from '../../git/worktree/merge-trees.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { BlockFailed } from '../../moderator/moderator-errors.ts';
import type { MergeRecord } from '../../schema/built-in/thread-step.ts';
import { findFilesToMerge } from '../../thread/step-view.ts';
import { filesOfStep, findNewestRecorded } from '../../thread/step-files.ts';

/** The files of all branches, as the block's step records them. */
export type MergedFiles = { merge: MergeRecord; snapshot: Snapshot; conflicts: readonly MergeConflict[] };

/** A branch that has completed, and the commit of its end. */
type Completed = { key: string; end: ObjectId };

/**
 * Merges the newest files of branches that began at one base into that base, one after the other.
 *
 * @param completed in the order in which they ended
 * @throws {UwfError} as `mergeAll`
 */
export async function mergeBranches(
  { engine, state, block, choice }: BlockTurn,
  base: ObjectId | 'head' | undefined,
  completed: readonly Completed[],
): Promise<MergedFiles> {
  const { repository, env, signal } = engine;
  if (base === undefined || base === 'head') {
    const reason = 'the thread has no work tree of its own';
    throw new BlockFailed(choice.role, 'merge', JSON.stringify(block.merge), reason);
  }
  const branches = await findFilesToMerge(repository, block.merge?.order, completed);
  const merged = await mergeAll({ repository, env, signal }, base, base, branches);
  const { tree, objects, release, conflicts, gitVersion: git, isRepeatable } = merged;
  const { start, last } = state;
  const before = await findNewestRecorded(repository, last);
  const commit = (before && (await filesOfStep(repository, before))?.commit) ?? start.node.base;
  return {
    merge: { base, branches, git, isRepeatable },
    snapshot: { tree, ...(commit && { commit }), objects, packs: [], release },
    conflicts,
  };
}
