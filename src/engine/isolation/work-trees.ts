import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { GitPlace } from '../../git/process/run-git.ts';
import type { Repository } from '../../git/repository.ts';
import { discoverRepository } from '../../git/repository/discover.ts';
import { realPath, withoutPlaces } from '../../git/repository/git-directory.ts';
import {
  branchesMadeFor,
  type LinkedWorkTree,
  linkedWorkTrees,
  linkOf,
  type MadeBranch,
  markUnfinished,
  readThreadNote,
  relink,
  type ThreadNote,
} from '../../git/repository/work-trees.ts';
import { readCommit } from '../../git/stores/read.ts';
import { isWithin, sizeOf } from '../../git/system/files.ts';
import { hasOwnSubmoduleCommits, removeOwnWorkTree, treeOfFiles } from '../../git/worktree/own-work-tree.ts';
import { orElse, tryTo } from '../../or-else.ts';
import { findThread, listPointers } from '../../thread/find-thread.ts';
import { filesOfStep } from '../../thread/step-files.ts';
import { readThreadCommit, type ThreadCommit } from '../../thread/thread-commit.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { readState } from '../../thread/thread-state.ts';
import { type Diagnosis, warning } from '../doctor/diagnosis.ts';
import { mayBeAtWork } from '../leases/find-lease.ts';
import { snapshotLimits } from '../workspace/record-workspace.ts';
import { gitPlace, type WorkTreesContext, workTreesFolder } from './work-place.ts';

type ThreadWorkTree = { top: string; note: ThreadNote };

/** A work tree of a thread as the repository records it, with the branches that were made for it. */
type ListedWorkTree = LinkedWorkTree & { note: ThreadNote | undefined; branches: readonly MadeBranch[] };

/**
 * Lists the work trees of threads, also those that are elsewhere since the repository was moved or `isolation.folder` changed.
 * Without a note are those that are not whole, and one that another process has just moved to the place of its own thread.
 */
export function listWorkTrees(engine: WorkTreesContext, git: GitPlace): ListedWorkTree[] {
  const folder = realPath(workTreesFolder(engine));
  return linkedWorkTrees(git.location).flatMap((tree) => {
    const { top, gitDir } = tree;
    const found = readThreadNote({ gitDir });
    const note = found?.thread === basename(top) ? found : undefined;
    // A copy of a repository registers the work trees of that one, too.
    const isOwn =
      isWithin(top, folder) ||
      (found !== undefined && basename(top).startsWith(found.thread) && linkOf(tree) !== 'elsewhere');
    return isOwn ? [{ top, gitDir, note, branches: branchesMadeFor({ gitDir }) }] : [];
  });
}

/** Yields work trees whose thread has ended and has all their files, those with the wanted files first. */
export async function* findReusable(
  engine: WorkTreesContext,
  git: GitPlace,
  { at }: Pick<ThreadNote, 'at'>,
): AsyncGenerator<ThreadWorkTree, void, void> {
  const all = listWorkTrees(engine, git).flatMap(({ top, note }) => (note === undefined ? [] : [{ top, note }]));
  for (const tree of all.toSorted((a, b) => Number(b.note.at === at) - Number(a.note.at === at))) {
    const note = await noteAtRest(engine, git, tree);
    if (note !== undefined) yield { top: tree.top, note };
  }
}

/**
 * Finds a work tree at rest: its thread has ended, or is gone, no process works on it, and its files are those of a snapshot of
 * the thread, or of its base.
 * @returns the note that it has to have then: a process can have been killed before it wrote it; `undefined` if only the work
 *   tree has its files, or the commits of a submodule
 */
async function noteAtRest(
  engine: WorkTreesContext,
  git: GitPlace,
  { top, note }: ThreadWorkTree,
): Promise<ThreadNote | undefined> {
  const { repository } = engine;
  const { thread } = note;
  if (!isThreadId(thread) || mayBeAtWork(repository, thread)) return undefined;
  const over = await findOver(engine, thread);
  const location = over && (await discoverRepository(top, withoutPlaces(engine.env)).catch(() => undefined));
  const now = location && (await treeOfFiles(repository, { ...git, location }, snapshotLimits(engine, 'worktree')));
  if (over === undefined || location === undefined || now === undefined) return undefined;
  const readBase = async (): Promise<ObjectId | undefined> =>
    over.head && (await readState(repository, thread, over.head)).start.node.base;
  // An error counts as such commits: another process, or another branch of a block, may be taking the work tree.
  if (await hasOwnSubmoduleCommits({ ...git, location }, readBase).catch(() => true)) return undefined;
  if (now === (await treeAt(repository, note.at))) return note;
  const last = over.head && (await readState(repository, thread, over.head)).last;
  const files = last && (await filesOfStep(repository, last));
  return last && files?.commit !== undefined && files.tree === now
    ? { ...note, at: last.id, commit: files.commit }
    : undefined;
}

/** Finds the head of a thread that has ended; none of one that was removed. One that cannot be read may go on. */
async function findOver(
  { repository }: WorkTreesContext,
  thread: ThreadId,
): Promise<{ head: ObjectId | undefined } | undefined> {
  try {
    const found = await findThread(repository, thread);
    if (found === undefined) return { head: undefined };
    const isOver = found.isHistory || (await readThreadCommit(repository, found.head)).kind === 'end';
    return isOver ? { head: found.head } : undefined;
  } catch {
    return undefined;
  }
}

/** The tree of the snapshot, or of the base, that a commit of a thread names; `undefined` where it is gone. */
export async function treeAt(repository: Repository, id: ObjectId): Promise<ObjectId | undefined> {
  const commit: ThreadCommit | undefined = await readThreadCommit(repository, id).catch(() => undefined);
  if (commit?.kind === 'step') return commit.node.workspace?.tree;
  const base = commit?.kind === 'start' ? commit.node.base : undefined;
  return base && (await readCommit(repository.objects, base)).tree;
}

/**
 * Removes the work trees of threads that are over and have all their files, and those whose making was interrupted, with
 * their registrations and branches.
 * @returns what was removed, with its size
 */
export async function collectWorkTrees(
  engine: WorkTreesContext,
  onProgress?: (line: string) => void,
): Promise<{ path: string; bytes: number }[]> {
  const git = gitPlace(engine);
  const removed: { path: string; bytes: number }[] = [];
  const all = listWorkTrees(engine, git);
  for (const [at, { top, gitDir, note, branches }] of all.entries()) {
    onProgress?.(`comparing and removing work trees: ${at + 1} of ${all.length}`);
    tryTo(() => relink({ top, gitDir }));
    const isOver = note !== undefined && isGone(top) && (await isThreadOver(engine, note.thread));
    const resting = isOver ? note : note && (await noteAtRest(engine, git, { top, note }));
    if (resting === undefined && (note !== undefined || !isUnfinished(engine, top))) continue;
    const bytes = orElse(() => sizeOf(top), 0);
    const made = resting === undefined ? branches : [resting];
    // So that no run takes it for its thread meanwhile.
    markUnfinished({ gitDir }, made);
    await removeOwnWorkTree(git, top, made);
    removed.push({ path: top, bytes });
  }
  return removed;
}

/** Lists the work trees with files that no snapshot has: they were moved aside, and no thread goes on there. */
export function findAsideWorkTrees(engine: WorkTreesContext): string[] {
  const folder = realPath(workTreesFolder(engine));
  return orElse(() => readdirSync(folder), [])
    .filter((name) => !isThreadId(name) && !name.startsWith('.'))
    .map((name) => join(folder, name));
}

/**
 * Lists the work trees that are elsewhere since the repository was moved or `isolation.folder` changed, with the thread that will
 * bring them here when it goes on.
 * @param all the work trees of threads
 */
async function findStrayWorkTrees(
  engine: WorkTreesContext,
  all: readonly ListedWorkTree[],
): Promise<{ top: string; thread?: ThreadId }[]> {
  const folder = realPath(workTreesFolder(engine));
  const strays: { top: string; thread?: ThreadId }[] = [];
  for (const { top, note } of all) {
    if (isWithin(top, folder) || !existsSync(top)) continue;
    const thread = note && isThreadId(note.thread) ? note.thread : undefined;
    const isAwaited =
      thread !== undefined && !existsSync(join(folder, thread)) && !(await isThreadOver(engine, thread));
    strays.push({ top, ...(isAwaited && { thread }) });
  }
  return strays;
}

type KnownWorkTree = {
  top: string;
  thread: ThreadId;
  /** `recorded`: the thread is over, or gone, and has all its files; `unrecorded`: it is, and has not; `open`: it can go on. */
  kind: 'recorded' | 'unrecorded' | 'open';
};

/**
 * Tells of the work trees of threads that no process works on, but for those that are elsewhere.
 * @param all the work trees of threads
 */
async function sortWorkTrees(engine: WorkTreesContext, all: readonly ListedWorkTree[]): Promise<KnownWorkTree[]> {
  const git = gitPlace(engine);
  const folder = realPath(workTreesFolder(engine));
  const sorted: KnownWorkTree[] = [];
  for (const { top, note } of all) {
    if (note === undefined || !isThreadId(note.thread) || !isWithin(top, folder)) continue;
    const { thread } = note;
    if (mayBeAtWork(engine.repository, thread) || !(existsSync(top) || isGone(top))) continue;
    const isOver = await isThreadOver(engine, thread);
    const isRecorded = isOver && (isGone(top) || (await noteAtRest(engine, git, { top, note })) !== undefined);
    sorted.push({ top, thread, kind: isRecorded ? 'recorded' : isOver ? 'unrecorded' : 'open' });
  }
  return sorted;
}

/** Tells whether a folder was deleted. If the folder above is gone, too, it may be on a disk that is not mounted. */
function isGone(top: string): boolean {
  return !existsSync(top) && existsSync(dirname(top));
}

/** Tells whether a thread is over, or gone, and no process works on it. */
async function isThreadOver(engine: WorkTreesContext, thread: string): Promise<boolean> {
  if (!isThreadId(thread) || mayBeAtWork(engine.repository, thread)) return false;
  return (await findOver(engine, thread)) !== undefined;
}

/** Tells whether no process is making a work tree that has no note yet. */
function isUnfinished({ repository }: WorkTreesContext, top: string): boolean {
  const thread = basename(top);
  return isThreadId(thread) && !mayBeAtWork(repository, thread);
}

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
