import { findAsideWorkTrees } from '../isolation/collect-work-trees.ts';
import type { WorkTreesContext } from '../isolation/work-tree-folder.ts';
import { warning, type Diagnosis } from './diagnosis.ts';

/** Names the work trees that were moved aside, because they have files that no snapshot of their thread has. */
export function diagnoseWorkTrees(engine: WorkTreesContext): Diagnosis[] {
  if (engine.repository.location === undefined) return [];
  return findAsideWorkTrees(engine).map((top) =>
    warning(
      'work-tree-aside',
      `${top} has files that no snapshot has: its thread went on elsewhere meanwhile`,
      `take from it what you need, and remove it with 'git worktree remove --force ${top}'`,
    ),
  );
}
