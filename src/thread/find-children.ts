import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readChain } from './chain.ts';
import { listPointers, type ThreadPointer } from './find-thread.ts';
import { readThreadCommit } from './thread-commit.ts';
import { threadTimeMs, type ThreadId } from './thread-id.ts';
import { readToldChain } from './told-chain.ts';
import { readThread, stateHash, type CommitOf, type ThreadState } from './thread-state.ts';

/** A child thread, and its start. */
export type ChildThread = { pointer: ThreadPointer; start: CommitOf<'start'> };

/**
 * Lists the child threads of a thread, by its start node: those that run, wait or are over, oldest first.
 *
 * Only threads that started after the parent are looked at, since an id is a time.
 * @param parent the thread itself, where it is known, which then is not read to its start
 */
export async function findChildren(
  repository: Repository,
  parentStart: NodeHash,
  parentStartedAtMs: number,
  parent?: ThreadId,
): Promise<ChildThread[]> {
  const children: ChildThread[] = [];
  const starts: KnownStarts = new Map();
  for (const pointer of await listPointers(repository)) {
    if (pointer.id === parent || threadTimeMs(pointer.id) < parentStartedAtMs) continue;
    const start = await readStart(repository, pointer.head, starts);
    if (start?.node.parentThread === parentStart) children.push({ pointer, start });
  }
  return children;
}

/** Starts by the commits that were passed on the way to them. */
export type KnownStarts = Map<ObjectId, CommitOf<'start'>>;

/**
 * The start of the thread that a commit belongs to; `undefined` if its chain cannot be read.
 *
 * @param known starts that were found before, to which this one is added: what forks share is read once
 */
export async function readStart(
  repository: Repository,
  from: ObjectId,
  known: KnownStarts = new Map(),
): Promise<CommitOf<'start'> | undefined> {
  const passed: ObjectId[] = [];
  try {
    for await (const commit of readToldChain(repository, from)) {
      passed.push(commit.id);
      const start = commit.kind === 'start' ? commit : known.get(commit.id);
      if (start === undefined) continue;
      for (const id of passed) known.set(id, start);
      return start;
    }
  } catch {
    // A corrupt thread is nobody's child; listings show it as what it is.
  }
  return undefined;
}

/** The end of a child thread by its hash, with its commit: an extra parent of the step that called the child. */
export async function findChildEnd(
  repository: Repository,
  parent: CommitOf<'start'>,
  endHash: string,
): Promise<{ hash: NodeHash; commit: ObjectId } | undefined> {
  for (const { pointer } of await findChildren(repository, parent.hash, parent.node.startedAtMs)) {
    const head = await readThreadCommit(repository, pointer.head);
    if (head.kind === 'end' && head.hash === endHash) return { hash: head.hash, commit: head.id };
  }
  return undefined;
}

/**
 * The active threads that began with a start and stand at a state of it: the callers that may wait for a child.
 * Forks share both, so there can be several.
 */
export async function findThreadsAt(repository: Repository, start: NodeHash, state: NodeHash): Promise<ThreadState[]> {
  const found: ThreadState[] = [];
  const starts: KnownStarts = new Map();
  for (const { id, head } of await listPointers(repository, { active: true })) {
    if ((await readStart(repository, head, starts))?.hash !== start) continue;
    const thread = await readThread(repository, id, head);
    if (stateHash(thread) === state) found.push(thread);
  }
  return found;
}

/** Tells whether a step of a thread that began with a start has taken in the end of a child thread. */
export async function isTakenIn(
  repository: Repository,
  parentStart: CommitOf<'start'>,
  childEnd: NodeHash,
): Promise<boolean> {
  const starts: KnownStarts = new Map();
  for (const { id, head } of await listPointers(repository)) {
    if (threadTimeMs(id) < parentStart.node.startedAtMs) continue;
    const start = await readStart(repository, head, starts);
    if (start?.id !== parentStart.id) continue;
    for await (const commit of readChain(repository, head)) {
      if (commit.kind === 'step' && commit.node.childThreads.includes(childEnd)) return true;
    }
  }
  return false;
}
