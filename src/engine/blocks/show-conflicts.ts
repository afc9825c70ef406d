import { markConflicts, repeatMerge } from '../../git/worktree/merge-trees.ts';
import { treeOfFiles } from '../../git/worktree/own-work-tree.ts';
import type { RepositoryLocation } from '../../git/repository.ts';
import { statusOf } from '../../thread/thread-commit.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { CONFLICT } from '../../workflow/definition.ts';
import type { Machine } from '../engine-context.ts';
import { gitPlace } from '../isolation/work-place.ts';
import { snapshotLimits } from '../workspace/record-workspace.ts';

/**
 * Marks the conflicts of a merge in the index of the thread's work tree, if the step before was a block whose files conflict, so
 * that git shows them to the role that resolves them. A work tree in which a turn has begun to resolve them stays as it is.
 */
export async function showConflicts(
  engine: Machine,
  location: RepositoryLocation,
  { last }: Pick<ThreadState, 'last'>,
): Promise<void> {
  if (last?.node.merge === undefined || statusOf(last.node.meta) !== CONFLICT) return;
  const { repository, env, signal } = engine;
  const git = { ...gitPlace(engine), location };
  const { base, branches } = last.node.merge;
  const { tree, stages } = await repeatMerge({ repository, env, signal }, base, base, branches);
  // Another version of git may merge otherwise: then the markers in the files have to do.
  if (stages === undefined || tree !== last.node.workspace?.tree) return;
  if ((await treeOfFiles(repository, git, snapshotLimits(engine))) === tree) await markConflicts(git, stages);
}
