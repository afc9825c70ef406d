import { describeThread } from '../engine/describe.ts';
import { takeLease } from '../engine/lease.ts';
import { forgetThread } from '../engine/local-traces.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { getThread } from '../thread/find-thread.ts';
import { removeThread } from '../thread/remove-thread.ts';
import { WrongThreadState } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { isOver } from '../thread/thread-status.ts';
import { readingContext } from './engine-here.ts';

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
  const { status } = await describeThread(readingContext(repository), id).catch(() => ({ status: 'corrupt' as const }));
  if (!isOver(status) && status !== 'running' && !force) {
    const hint = `'uwf thread cancel ${id}' ends it; --force removes it as it is`;
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
