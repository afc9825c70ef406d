import { join } from 'node:path';
import { namesIn } from '../../git/system/files.ts';
import type { ProcessIdentity } from '../../git/system/process-identity.ts';
import type { Repository } from '../../git/repository.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { isOfClass, orElse } from '../../or-else.ts';
import { LeaseDamaged } from '../engine-errors.ts';
import { isHolderAlive, mayBeHeld, readLeaseRecord, type LeaseRecord } from './lease-file.ts';
import type { ThreadStatus } from '../../thread/thread-status.ts';

const suffix = '.json';

/** The file that says who works on a thread. */
export function leasePath(stateDir: string, thread: ThreadId): string {
  return join(leaseFolder(stateDir), thread + suffix);
}

/** The lease of the process that works on a thread now; `undefined` if none does, or the process has ended. */
export function findLease(repository: Repository, thread: ThreadId): LeaseRecord | undefined {
  const record = findLeaseRecord(repository, thread);
  return record && isHolderAlive(record, repository.now()) ? record : undefined;
}

/** Tells whether a process works on a thread, or may do so as far as its damaged lease tells: what only shows goes on then. */
export function mayBeAtWork(repository: Repository, thread: ThreadId): boolean {
  return orElse(() => findLease(repository, thread) !== undefined, true, isOfClass(LeaseDamaged));
}

/**
 * The lease of a thread whether its holder lives or not; `undefined` if there is none.
 * @throws {LeaseDamaged} if it cannot be told
 */
export function findLeaseRecord(repository: Repository, thread: ThreadId): LeaseRecord | undefined {
  if (repository.stateDir === undefined) return inProcessLeases(repository).get(thread);
  const record = readLeaseRecord(leasePath(repository.stateDir, thread));
  if (record !== 'unreadable') return record;
  if (mayBeHeld(leasePath(repository.stateDir, thread))) throw new LeaseDamaged(leasePath(repository.stateDir, thread));
  return undefined;
}

/** All leases that a process took: that of the thread it works on, and those of the child threads below. */
export function findLeasesOf(repository: Repository, holder: ProcessIdentity): LeaseRecord[] {
  return readLeases(repository).filter((lease) => isHeldBy(lease, holder));
}

/** Tells whether a process took a lease. */
export function isHeldBy({ holder }: Pick<LeaseRecord, 'holder'>, { pid, startTime }: ProcessIdentity): boolean {
  return holder.pid === pid && holder.startTime === startTime;
}

/** The leases on disk that can be read, of living processes or not, with their threads. */
export function readLeases(repository: Repository): (LeaseRecord & { thread: ThreadId })[] {
  const { stateDir } = repository;
  if (stateDir === undefined) return [];
  return listLeases(repository).flatMap((thread) => {
    const record = readLeaseRecord(leasePath(stateDir, thread));
    return record === undefined || record === 'unreadable' ? [] : [{ ...record, thread }];
  });
}

/**
 * The thread whose agent, at work, runs this process. It waits for this process in its slot, so one thread of those below it
 * can have that one.
 */
export function findCaller(repository: Repository, env: Readonly<Record<string, string>>): ThreadId | undefined {
  const caller = env['UWF_THREAD'] ?? '';
  return isThreadId(caller) && findLease(repository, caller) !== undefined ? caller : undefined;
}

/** The threads that a process works on now, or may do so ({@link mayBeAtWork}), in order. */
export function findRunning(repository: Repository): ThreadId[] {
  if (repository.stateDir === undefined) return [...inProcessLeases(repository).keys()].toSorted();
  return listLeases(repository)
    .filter((thread) => mayBeAtWork(repository, thread))
    .toSorted();
}

/** The threads whose holder died and left the lease; in no order. */
export function findAbandoned(repository: Repository): ThreadId[] {
  return listLeases(repository).filter(
    (thread) => !mayBeAtWork(repository, thread) && findLeaseRecord(repository, thread) !== undefined,
  );
}

/** The threads that have a lease, of a living process or not. */
export function listLeases({ stateDir }: Repository): ThreadId[] {
  if (stateDir === undefined) return [];
  return namesIn(leaseFolder(stateDir))
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .filter(isThreadId);
}

/** Where the leases of all threads are. */
function leaseFolder(stateDir: string): string {
  return join(stateDir, 'leases');
}

const inProcess = new WeakMap<Repository, Map<ThreadId, LeaseRecord>>();

/** The leases of a repository without a disk, which this process alone can see. */
export function inProcessLeases(repository: Repository): Map<ThreadId, LeaseRecord> {
  const leases = inProcess.get(repository) ?? new Map<ThreadId, LeaseRecord>();
  inProcess.set(repository, leases);
  return leases;
}

/** The status of a thread on this machine, where a process may work on it ({@link mayBeAtWork}), or have died over it. */
export function statusHere(repository: Repository, thread: ThreadId, status: ThreadStatus): ThreadStatus {
  if (status !== 'idle' && status !== 'suspended') return status;
  const record = orElse(() => findLeaseRecord(repository, thread), 'damaged' as const, isOfClass(LeaseDamaged));
  if (record === undefined) return status;
  if (record === 'damaged' || isHolderAlive(record, repository.now())) return 'running';
  // A suspended one waits for a person, whatever died over it.
  return status === 'idle' ? 'interrupted' : status;
}
