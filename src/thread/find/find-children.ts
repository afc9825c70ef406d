import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { readChain } from '../read/read-chain.ts';
import { possibleChildren } from './find-origins.ts';
import { findByPrefix, listPointers, type ThreadPointer } from './find-thread.ts';
import { timeOfCommit } from '../thread-commit.ts';
import { firstChildTimeMs, threadTimeMs, timePrefix, type ThreadId } from '../thread-id.ts';
import type { LightStart } from '../read/light-chain.ts';
import { findStart } from '../read/read-start.ts';
import { readState, stateCommit, stateHash, type ThreadState } from '../read/thread-state.ts';

/** A child thread, and its start. */
export type ChildThread = { pointer: ThreadPointer; start: LightStart };

/** Results for threads that were checked, each with the head at which it was. */
export type SeenThreads = Map<ThreadId, { head: ObjectId; child: ChildThread | undefined }>;

/** Threads by the beginnings of their ids. */
export type ListedThreads = Map<string, Promise<ThreadPointer[]>>;

/** The caller: the fields of it that the starts of its children name. */
export type Caller = { id: ThreadId; startHash: NodeHash };

/** Tells whether a start is that of a child of a thread. Children that earlier versions called belong to all forks of it. */
export function isChildOf({ parentThread, call }: ThreadStart, caller: Caller): boolean {
  return parentThread === caller.startHash && (call === undefined || call.thread === caller.id);
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

/**
 * Lists the child threads that a thread called since its last step, or start, with the ids of earlier versions of uwf. All
 * younger threads are read. Children whose ends a step has taken in are left out.
 */
export async function findUnkeyedNow(repository: Repository, state: ThreadState): Promise<ChildThread[]> {
  const at = stateCommit(state);
  const sinceMs = timeOfCommit(at);
  const later = (await listPointers(repository, undefined, { sinceMs })).filter(
    ({ id }) => threadTimeMs(id) >= sinceMs,
  );
  const called = await childrenAmong(
    repository,
    await possibleChildren(repository, later, state.start.hash),
    ({ node }) => node.call === undefined && node.parentThread === state.start.hash && node.parentState === at.hash,
  );
  // A child that a step of a fork, or a replaced step, has taken in is not left over from a crash.
  const taken = called.length === 0 ? new Set<ObjectId>() : await findTakenIn(repository, state.start);
  return called.filter(({ pointer }) => !taken.has(pointer.head));
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

/**
 * Finds the active threads with a given start whose last step, or start, is a given one: the callers that may wait for a child
 * that an earlier version called. There can be several, because forks share both.
 */
export async function findThreadsAt(repository: Repository, start: NodeHash, state: NodeHash): Promise<ThreadState[]> {
  const found: ThreadState[] = [];
  for (const { id, head } of await listPointers(repository, { active: true })) {
    if ((await findStart(repository, head))?.hash !== start) continue;
    const thread = await readState(repository, id, head);
    if (stateHash(thread) === state) found.push(thread);
  }
  return found;
}

/** The further parents of all steps of the threads with a given start. The ends of their children are among them. */
async function findTakenIn(
  repository: Repository,
  parentStart: Pick<LightStart, 'id' | 'node'>,
): Promise<Set<ObjectId>> {
  const taken = new Set<ObjectId>();
  const sinceMs = parentStart.node.startedAtMs;
  for (const { id, head } of await listPointers(repository, undefined, { sinceMs })) {
    if (threadTimeMs(id) < sinceMs) continue;
    const start = await findStart(repository, head);
    if (start?.id !== parentStart.id) continue;
    for await (const { commit } of readChain(repository, head)) {
      for (const parent of commit.parents.slice(1)) taken.add(parent);
    }
  }
  return taken;
}
