import { findLease } from '../engine/find-lease.ts';
import { takeLease } from '../engine/lease.ts';
import { forgetThread } from '../engine/local-traces.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { getThread, type ThreadPointer } from '../thread/find-thread.ts';
import { removeThread } from '../thread/remove-thread.ts';
import { NewerFormat, WrongThreadState } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { isOver, statusOfHead, type ThreadStatus } from '../thread/thread-status.ts';

/** A thread that was removed; `head` is null if it was not here. */
export type RemovedThread = { thread: ThreadId; head: ObjectId | null };

/**
 * Removes one thread from this repository.
 *
 * @param before what has to be done first, while nobody else can work on the thread; if it fails nothing is removed
 * @throws {ThreadNotFound} {AmbiguousThread} if it cannot be told which
 * @throws {WrongThreadState} if it is not over and not to be removed as it is
 * @throws {LeaseHeld} if somebody works on it
 */
export async function removeHere(
  repository: Repository,
  idOrPrefix: string,
  { force, isDry, before }: { force: boolean; isDry: boolean; before?: (thread: ThreadId) => Promise<void> },
): Promise<RemovedThread> {
  const { id, head } = await getThread(repository, idOrPrefix);
  const status = await readStatus(repository, { id, head });
  if (!isOver(status) && status !== 'running' && !force) {
    const end = status === 'corrupt' ? '' : `'uwf thread cancel ${id}' ends it; `;
    const hint = `${end}--force removes it as it is`;
    throw new WrongThreadState(id, status, 'it is not over', hint);
  }
  if (isDry) return { thread: id, head };
  // Under the lease, so that nobody begins a turn whose step would then have no thread.
  const lease = await takeLease(repository, id);
  try {
    await before?.(id);
    const pointer = await getThread(repository, id);
    await removeThread(repository, pointer);
    forgetThread(repository, id);
    return { thread: id, head: pointer.head };
  } finally {
    lease.release();
  }
}

/** What the head itself says: nothing is removed for what this machine remembers of it. */
async function readStatus(
  repository: Repository,
  { id, head }: Pick<ThreadPointer, 'id' | 'head'>,
): Promise<ThreadStatus> {
  try {
    return statusOfHead(await readThreadCommit(repository, head), findLease(repository, id) !== undefined);
  } catch (error) {
    return error instanceof NewerFormat ? 'newer' : 'corrupt';
  }
}
