import { findAsideWorkTrees, findLeftWorkTrees, findStrayWorkTrees } from '../isolation/collect-work-trees.ts';
import { listWorkTrees } from '../isolation/find-reusable.ts';
import { gitPlace, workTreesFolder, type WorkTreesContext } from '../isolation/work-tree-folder.ts';
import { warning, type Diagnosis } from './diagnosis.ts';

/** Names the work trees that stay because they have files that no snapshot of their thread has, and those in another folder. */
export async function diagnoseWorkTrees(engine: WorkTreesContext): Promise<Diagnosis[]> {
  if (engine.repository.location === undefined) return [];
  const all = listWorkTrees(engine, gitPlace(engine));
  const wayOut = (top: string): string => {
    const remove = `take from it what you need, and remove it with 'git worktree remove --force ${top}'`;
    // git keeps the branch, and without the work tree nothing tells that uwf made it.
    const made = all.find((tree) => tree.top === top)?.branches.map(({ branch }) => branch.slice('refs/heads/'.length));
    return made === undefined || made.length === 0
      ? remove
      : `${remove}, then its branch with 'git branch -D ${made.join(' ')}'`;
  };
  const aside = findAsideWorkTrees(engine).map((top) =>
    warning(
      'work-tree-aside',
      `${top} has files that no snapshot has: its thread went on elsewhere meanwhile`,
      wayOut(top),
    ),
  );
  const left = (await findLeftWorkTrees(engine, all)).map(({ top, thread }) =>
    warning(
      'work-tree-left',
      `${top} has files that no snapshot has, or commits of a submodule that no remote has, and thread ${thread} is over`,
      wayOut(top),
    ),
  );
  const elsewhere = (await findStrayWorkTrees(engine, all)).map(({ top, thread }) =>
    warning(
      'work-tree-elsewhere',
      `${top} is the work tree of a thread, and such work trees are in ${workTreesFolder(engine)} now`,
      thread === undefined
        ? `'uwf gc' removes it if a snapshot has its files; if not, ${wayOut(top)}`
        : `'uwf thread open ${thread}' moves it there, as does the thread's next step`,
    ),
  );
  return [...aside, ...left, ...elsewhere];
}
