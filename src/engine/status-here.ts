import type { Repository } from '../git/repository.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadStatus } from '../thread/thread-status.ts';
import { findLease, findLeaseRecord } from './find-lease.ts';

/** The status of a thread on this machine, where a process may work on it, or have died over it. */
export function statusHere(repository: Repository, thread: ThreadId, status: ThreadStatus): ThreadStatus {
  if (status !== 'idle' && status !== 'suspended') return status;
  if (findLease(repository, thread) !== undefined) return 'running';
  // A suspended one waits for a person, whatever died over it.
  return status === 'idle' && findLeaseRecord(repository, thread) !== undefined ? 'interrupted' : status;
}
