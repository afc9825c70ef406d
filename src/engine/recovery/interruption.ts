import { iso } from '../../time/clock.ts';
import { processesOfGroup } from '../../agent/processes/process-group.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { findLease, findLeaseRecord, findLeasesOf } from '../leases/find-lease.ts';

/** A run that its process did not live to finish: nothing else has worked on the thread since. */
export type Interruption = {
  /** The process that has ended, or can no longer be at work: its machine let the lease run out. */
  pid: number;
  host: string;
  /** When it began to work on the thread; ISO 8601, UTC. */
  since: string;
  /** The processes of its agents that still run on this machine. */
  processes: number[];
};

/** Finds out whether the process that worked on a thread has died over it; null if it has not. */
export function findInterruption(repository: Repository, thread: ThreadId): Interruption | null {
  const record = findLeaseRecord(repository, thread);
  if (record === undefined || findLease(repository, thread) !== undefined) return null;
  // The agent may work for a child thread, whose lease names its group.
  const groups = findLeasesOf(repository, record.holder).flatMap(({ processGroups }) => processGroups);
  const processes = [...new Set(groups.flatMap((group) => processesOfGroup(group)))].toSorted((a, b) => a - b);
  const { pid, host } = record.holder;
  return { pid, host, since: iso(record.sinceMs), processes };
}

/** Says what an interruption has left behind, as a sentence without its subject and full stop. */
export function describeInterruption({ pid, host, processes }: Interruption): string {
  const left =
    processes.length === 0
      ? 'no process of its agent is left here'
      : `of its agent ${processes.length === 1 ? 'process' : 'processes'} ${processes.join(', ')} still ${processes.length === 1 ? 'works' : 'work'}`;
  return `process ${pid} on ${host} died while it ran it; ${left}`;
}

/** Says what can be done about it. */
export function hintAtInterruption(thread: ThreadId, { processes }: Interruption): string {
  const run = `'uwf thread run ${thread}'`;
  return processes.length === 0
    ? `${run} goes on with it`
    : `'uwf thread stop ${thread}' ends what still works; ${run} ends it and goes on`;
}
