import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { removeOwnWorkTree } from '../../git/worktree/own-work-tree.ts';
import { markUnfinished, relink } from '../../git/repository/work-trees.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import { sizeOf } from '../../git/system/files.ts';
import { isWithin } from '../../is-within.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { mayBeAtWork } from '../leases/find-lease.ts';
import { orElse, tryTo } from '../../or-else.ts';
import { findOver, listWorkTrees, noteAtRest, type ListedWorkTree } from './find-reusable.ts';
import { gitPlace, workTreesFolder, type WorkTreesContext } from './work-tree-folder.ts';

/**
 * Removes the work trees of threads that are over and have all their files, and those whose making was interrupted, with
 * their registrations and branches.
 *
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
export async function findStrayWorkTrees(
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

/** A work tree of a thread. */
export type KnownWorkTree = {
  top: string;
  thread: ThreadId;
  /** `recorded`: the thread is over, or gone, and has all its files; `unrecorded`: it is, and has not; `open`: it can go on. */
  kind: 'recorded' | 'unrecorded' | 'open';
};

/**
 * Tells of the work trees of threads that no process works on, but for those that are elsewhere.
 * @param all the work trees of threads
 */
export async function sortWorkTrees(
  engine: WorkTreesContext,
  all: readonly ListedWorkTree[],
): Promise<KnownWorkTree[]> {
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
