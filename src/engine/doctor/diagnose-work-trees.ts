import { statSync } from 'node:fs';
import { branchesMadeFor, linkedWorkTrees } from '../../git/repository/work-trees.ts';
import { listPointers } from '../../thread/find-thread.ts';
import {
  findAsideWorkTrees,
  findStrayWorkTrees,
  type ListedWorkTree,
  listWorkTrees,
  sortWorkTrees,
} from '../isolation/find-reusable.ts';
import { gitPlace, workTreesFolder, type WorkTreesContext } from '../isolation/work-tree-folder.ts';
import { warning, type Diagnosis } from './diagnosis.ts';

/** So many names are told of things that one command removes. */
const MAX_NAMED = 5;
/** A thread that others have and that has not gone on here for so long may be over there. */
const LONG_UNTOUCHED_MS = 86_400_000;

/**
 * Names the work trees that are left of threads: those that `uwf gc` removes, those that stay because they have files that no
 * snapshot of their thread has, those in another folder, and branches without a work tree.
 * @param shared the threads that a remote had at the last fetch
 */
export async function diagnoseWorkTrees(engine: WorkTreesContext, shared: ReadonlySet<string>): Promise<Diagnosis[]> {
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
  const sorted = await sortWorkTrees(engine, all);
  const left = sorted
    .filter(({ kind }) => kind === 'unrecorded')
    .map(({ top, thread }) =>
      warning(
        'work-tree-left',
        `${top} has files that no snapshot has, or commits of a submodule that no remote has, and thread ${thread} is over`,
        wayOut(top),
      ),
    );
  const over = sorted.filter(({ kind }) => kind === 'recorded').map(({ top }) => top);
  const untouched = sorted
    .filter(({ kind, thread, top }) => kind === 'open' && shared.has(thread) && isUntouched(engine, all, top))
    .map(({ top }) => top);
  const elsewhere = (await findStrayWorkTrees(engine, all)).map(({ top, thread }) =>
    warning(
      'work-tree-elsewhere',
      `${top} is the work tree of a thread, and such work trees are in ${workTreesFolder(engine)} now`,
      thread === undefined
        ? `'uwf gc' removes it if a snapshot has its files; if not, ${wayOut(top)}`
        : `'uwf thread open ${thread}' moves it there, as does the thread's next step`,
    ),
  );
  return [
    ...aside,
    ...left,
    ...elsewhere,
    ...oneOf(
      'work-tree-over',
      'work trees are left of threads that are over, or not here any more',
      over,
      () => "'uwf gc' removes them and their branches",
    ),
    ...oneOf(
      'work-tree-untouched',
      'work trees are of threads that have not gone on here for a day',
      untouched,
      () => "'uwf fetch' brings the ends of those that are over elsewhere; 'uwf gc' then removes what is left of them",
    ),
    ...oneOf(
      'branch-left',
      'branches are left of threads that are over, or not here any more',
      await findLeftBranches(engine),
      (named) =>
        `'git log HEAD..<branch>' shows what only a branch has; 'git branch -D ${named.join(' ')}' removes them`,
    ),
  ];
}

/** One warning of all names. */
function oneOf(
  code: string,
  what: string,
  names: readonly string[],
  hint: (named: readonly string[]) => string,
): Diagnosis[] {
  if (names.length === 0) return [];
  const named = names.slice(0, MAX_NAMED);
  const more = names.length > named.length ? ` and ${names.length - named.length} more` : '';
  return [warning(code, `${what}: ${named.join(', ')}${more}`, hint(named))];
}

function isUntouched({ repository }: WorkTreesContext, all: readonly ListedWorkTree[], top: string): boolean {
  const gitDir = all.find((tree) => tree.top === top)?.gitDir;
  const { mtimeMs = Infinity } = (gitDir !== undefined && statSync(gitDir, { throwIfNoEntry: false })) || {};
  return mtimeMs < repository.now() - LONG_UNTOUCHED_MS;
}

/** The branches whose names are those of threads' work trees, where there is neither the work tree nor an open thread. */
async function findLeftBranches(engine: WorkTreesContext): Promise<string[]> {
  const { repository } = engine;
  const made = linkedWorkTrees(gitPlace(engine).location).flatMap(branchesMadeFor);
  const kept = new Set<string>(made.map(({ branch }) => branch));
  const open = await listPointers(repository, { active: true }, { damaged: () => undefined });
  return (await repository.refs.list('refs/heads/uwf/'))
    .filter(({ name }) => !kept.has(name))
    .map(({ name }) => name.slice('refs/heads/'.length))
    .filter((name) => {
      const [, end] = /-([0-9a-hjkmnp-tv-z]{6}|[0-9a-hjkmnp-tv-z]{10}|[0-9a-hjkmnp-tv-z]{26})$/u.exec(name) ?? [];
      return end !== undefined && !open.some(({ id }) => id.toLowerCase().endsWith(end));
    });
}
