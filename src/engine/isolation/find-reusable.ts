import type { ObjectId } from '../../git/format/object-id.ts';
import type { GitPlace } from '../../git/process/spawn-git.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommit } from '../../git/stores/read.ts';
import { linkedWorkTrees } from '../../git/repository/linked-work-trees.ts';
import { readThreadNote, type ThreadNote } from '../../git/repository/thread-work-tree.ts';
import { discoverRepository } from '../../git/repository/discover.ts';
import { realPath, withoutPlaces } from '../../git/repository/git-directory.ts';
import { treeOfFiles } from '../../git/worktree/own-work-tree.ts';
import { isWithin } from '../../is-within.ts';
import { findThread } from '../../thread/find/find-thread.ts';
import { readThreadCommit, type ThreadCommit } from '../../thread/thread-commit.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { findLease } from '../leases/find-lease.ts';
import { snapshotLimits } from '../workspace/record-workspace.ts';
import { workTreesFolder, type WorkTreesContext } from './work-tree-folder.ts';

/** A work tree that was made for a thread. */
export type ThreadWorkTree = { top: string; note: ThreadNote };

/** Lists the work trees of threads below the folder for them, those that are not finished without a note. */
export function listWorkTrees(
  engine: WorkTreesContext,
  git: GitPlace,
): { top: string; note: ThreadNote | undefined }[] {
  const folder = realPath(workTreesFolder(engine));
  return linkedWorkTrees(git.location)
    .filter(({ top }) => isWithin(top, folder))
    .map(({ top, gitDir }) => ({ top, note: readThreadNote({ gitDir }) }));
}

/** Yields work trees whose thread has ended and has all their files, those with the wanted files first. */
export async function* findReusable(
  engine: WorkTreesContext,
  git: GitPlace,
  { at }: Pick<ThreadNote, 'at'>,
): AsyncGenerator<ThreadWorkTree, void, void> {
  const all = listWorkTrees(engine, git).flatMap(({ top, note }) => (note === undefined ? [] : [{ top, note }]));
  for (const tree of all.toSorted((a, b) => Number(b.note.at === at) - Number(a.note.at === at))) {
    if (await isDone(engine, git, tree)) yield tree;
  }
}

/**
 * Tells whether a work tree can go: its thread has ended, or is gone, no process works on it, and its files are those of a
 * snapshot of a thread that is there.
 */
export async function isDone(engine: WorkTreesContext, git: GitPlace, { top, note }: ThreadWorkTree): Promise<boolean> {
  const { repository } = engine;
  if (!isThreadId(note.thread) || findLease(repository, note.thread) !== undefined) return false;
  if (!(await isOver(engine, note.thread))) return false;
  const tree = await treeAt(repository, note.at);
  if (tree === undefined) return false;
  const location = await discoverRepository(top, withoutPlaces(engine.env)).catch(() => undefined);
  if (location === undefined) return false;
  return tree === (await treeOfFiles(repository, { ...git, location }, snapshotLimits(engine)));
}

/** Tells whether a thread has ended or was removed; one that cannot be read may go on. */
async function isOver({ repository }: WorkTreesContext, thread: ThreadId): Promise<boolean> {
  try {
    const found = await findThread(repository, thread);
    return found === undefined || found.isHistory || (await readThreadCommit(repository, found.head)).kind === 'end';
  } catch {
    return false;
  }
}

/** The tree of the snapshot, or of the base, that a commit of a thread names; `undefined` where it is gone. */
export async function treeAt(repository: Repository, id: ObjectId): Promise<ObjectId | undefined> {
  const commit: ThreadCommit | undefined = await readThreadCommit(repository, id).catch(() => undefined);
  if (commit?.kind === 'step') return commit.node.workspace?.tree;
  const base = commit?.kind === 'start' ? commit.node.base : undefined;
  return base && (await readCommit(repository.objects, base)).tree;
}
