import type { Repository } from '../git/repository.ts';
import { getThread } from '../thread/find-thread.ts';
import { foldEnded } from '../thread/fold-ended.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { readThread, type ThreadState } from '../thread/thread-state.ts';
import type { EngineContext } from './context.ts';
import { takeLease, type Lease } from './lease.ts';

/** Finds a thread and reads it, finishing an ending that was cut in two. */
export async function readCurrent(repository: Repository, idOrPrefix: string): Promise<ThreadState> {
  const pointer = await getThread(repository, idOrPrefix);
  await foldEnded(repository, pointer);
  return readThread(repository, pointer.id, pointer.head);
}

/**
 * Works on a thread under its lease, its head read after the lease was taken, so that two never pay for one turn.
 *
 * @throws {LeaseHeld} if somebody else works on it
 */
export async function withLease<T>(
  context: EngineContext,
  idOrPrefix: string,
  adopt: string | undefined,
  work: (state: ThreadState, lease: Lease) => Promise<T>,
): Promise<T> {
  const { repository } = context;
  const pointer = await getThread(repository, idOrPrefix);
  const lease = await takeLease(repository, pointer.id, adopt);
  return underLease(context, pointer.id, lease, async () => {
    await repository.refs.removeStaleLocks();
    return work(await readCurrent(repository, pointer.id), lease);
  });
}

/** Does work under a lease that was taken for it, and gives the lease back. */
export async function underLease<T>(
  context: EngineContext,
  thread: ThreadId,
  lease: Lease,
  work: () => Promise<T>,
): Promise<T> {
  context.debug(thread, 'lease taken', { pid: process.pid });
  try {
    return await work();
  } catch (error) {
    context.debug(thread, 'stopped', { message: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    context.debug(thread, 'lease released');
    // Whoever follows stops when the lease is gone, and has to find all there is by then.
    context.journal.close(thread);
    lease.release();
  }
}
