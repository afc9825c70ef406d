import { findAsideWorkTrees, findLeftWorkTrees } from '../isolation/collect-work-trees.ts';
import type { WorkTreesContext } from '../isolation/work-tree-folder.ts';
import { warning, type Diagnosis } from './diagnosis.ts';

/** Names the work trees that stay because they have files that no snapshot of their thread has. */
export async function diagnoseWorkTrees(engine: WorkTreesContext): Promise<Diagnosis[]> {
  if (engine.repository.location === undefined) return [];
  const wayOut = (top: string): string =>
    `take from it what you need, and remove it with 'git worktree remove --force ${top}'`;
  const aside = findAsideWorkTrees(engine).map((top) =>
    warning(
      'work-tree-aside',
      `${top} has files that no snapshot has: its thread went on elsewhere meanwhile`,
      wayOut(top),
    ),
  );
  const left = (await findLeftWorkTrees(engine)).map(({ top, thread }) =>
    warning('work-tree-left', `${top} has files that no snapshot has, and thread ${thread} is over`, wayOut(top)),
  );
  return [...aside, ...left];
}
