import { messageOf } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { foldEnded } from '../../thread/thread-verbs.ts';
import { getThread } from '../../thread/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { readState, type ThreadState } from '../../thread/thread-state.ts';
import type { Telling } from '../engine-context.ts';
import { leaveRunTree } from '../limits/enter-run-tree.ts';
import { type Lease, takeLease } from './lease.ts';

/** Finds a thread and reads it, finishing an ending that was cut in two. */
export async function readCurrent(repository: Repository, idOrPrefix: string): Promise<ThreadState> {
  const pointer = await getThread(repository, idOrPrefix);
  await foldEnded(repository, pointer);
  return readState(repository, pointer.id, pointer.head);
}

/**
 * Works on a thread under its lease. The head is read after the lease was taken, so that two processes never pay for one
 * turn.
 *
 * @throws {LeaseHeld} if another process works on it
 */
export async function withThread<T>(
  engine: Telling,
  idOrPrefix: string,
  adopt: string | undefined,
  work: (state: ThreadState, lease: Lease) => Promise<T>,
): Promise<T> {
  const { repository } = engine;
  const { id } = await getThread(repository, idOrPrefix);
  return withLease(engine, id, adopt, async (lease) => {
    return work(await readCurrent(repository, id), lease);
  });
}

/**
 * Does work under the lease of a thread, which need not exist yet.
 * @param adopt the token of a lease that another process took for this one
 * @throws {LeaseHeld} if another process has the lease
 */
export async function withLease<T>(
  engine: Telling,
  thread: ThreadId,
  adopt: string | undefined,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const lease = await takeLease(engine.repository, thread, adopt);
  engine.debug(thread, 'lease taken', { pid: process.pid });
  try {
    return await work(lease);
  } catch (error) {
    engine.debug(thread, 'stopped', { message: messageOf(error) });
    throw error;
  } finally {
    engine.debug(thread, 'lease released');
    // A process that follows stops when the lease is gone, so all lines have to be written by then.
    engine.journal.close(thread);
    lease.release();
    leaveRunTree(engine, thread);
  }
}
