import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { possibleChildren } from './find-origins.ts';
import { findByPrefix, listPointers, type ThreadPointer } from './find-thread.ts';
import { firstChildTimeMs, threadTimeMs, timePrefix, type ThreadId } from '../thread-id.ts';
import type { LightStart } from '../read/light-chain.ts';
import { findStart } from '../read/read-start.ts';
import { stateCommit, type ThreadState } from '../read/thread-state.ts';

/** A child thread, and its start. */
export type ChildThread = { pointer: ThreadPointer; start: LightStart };

/** Results for threads that were checked, each with the head at which it was. */
export type SeenThreads = Map<ThreadId, { head: ObjectId; child: ChildThread | undefined }>;

/** Threads by the beginnings of their ids. */
export type ListedThreads = Map<string, Promise<ThreadPointer[]>>;

/** The caller: the fields of it that the starts of its children name. */
export type Caller = { id: ThreadId; startHash: NodeHash };

/** Tells whether a start is that of a child of a thread. A fork of the caller has children of its own. */
export function isChildOf({ parentThread, call }: ThreadStart, caller: Caller): boolean {
  return parentThread === caller.startHash && call?.thread === caller.id;
}

/**
 * Lists the child threads of a thread that have a ref: those that run, wait or are over, in the order of their ids.
 *
 * Only threads whose ids are not older than the caller's start are read.
 */
export async function findChildren(repository: Repository, { id, start }: ThreadState): Promise<ChildThread[]> {
  const fromMs = firstChildTimeMs(start.node.startedAtMs);
  const caller = { id, startHash: start.hash };
  const later = (await listPointers(repository, undefined, { sinceMs: fromMs })).filter(
    (pointer) => pointer.id !== id && threadTimeMs(pointer.id) >= fromMs,
  );
  const possible = await possibleChildren(repository, later, start.hash);
  return childrenAmong(repository, possible, ({ node }) => isChildOf(node, caller));
}

/**
 * Lists the child threads that a thread called under an id since its last step, or start, by the time in their ids. A fork of a
 * child is none: no call leads to it.
 * @param seen what earlier calls for the same state and id found; what this one finds is added
 * @param listed the threads of each time, for calls of the same moment; what this one lists is added
 */
export async function findCalledNow(
  repository: Repository,
  state: Pick<ThreadState, 'start' | 'last'>,
  callerId: ThreadId,
  seen?: SeenThreads,
  listed: ListedThreads = new Map(),
): Promise<ChildThread[]> {
  const { commit, hash } = stateCommit(state);
  const time = timePrefix(commit.committer.atMs);
  const called = listed.get(time) ?? findByPrefix(repository, time);
  listed.set(time, called);
  return childrenAmong(
    repository,
    await called,
    ({ node }, { id }) => id === node.id && node.call?.thread === callerId && node.parentState === hash,
    seen,
  );
}

async function childrenAmong(
  repository: Repository,
  pointers: readonly ThreadPointer[],
  isChild: (start: LightStart, pointer: ThreadPointer) => boolean,
  seen: SeenThreads = new Map(),
): Promise<ChildThread[]> {
  const children: ChildThread[] = [];
  for (const pointer of pointers) {
    const { id, head } = pointer;
    let found = seen.get(id);
    if (found?.head !== head) {
      const start = await findStart(repository, head);
      found = { head, child: start && isChild(start, pointer) ? { pointer, start } : undefined };
      seen.set(id, found);
    }
    if (found.child !== undefined) children.push(found.child);
  }
  return children;
}
