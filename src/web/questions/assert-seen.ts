import { findLease } from '../../engine/leases/find-lease.ts';
import { LeaseHeld } from '../../engine/leases/lease.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import type { SeenThread } from '../site.ts';

/**
 * Refuses what a person asks for when a thread is not as they saw it. To be called under the lease of that thread: of two
 * persons one is refused then.
 *
 * @param others threads on which no process may be at work: each of two persons who answer one question at a child and at its
 * caller holds one lease, and looks for that of the other
 * @throws {ThreadMoved} if one of them has another head
 * @throws {LeaseHeld} if a process works on one of the others
 */
export async function assertSeen(
  repository: Repository,
  thread: SeenThread,
  others: readonly SeenThread[] = [],
): Promise<void> {
  for (const { id, head: seen } of [thread, ...others]) {
    const { head } = await getThread(repository, id);
    if (head !== seen) throw new ThreadMoved(id, undefined, head);
  }
  for (const { id } of others) {
    const lease = findLease(repository, id);
    if (lease !== undefined) throw new LeaseHeld(id, lease);
  }
}
