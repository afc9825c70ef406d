import { setTimeout as sleep } from 'node:timers/promises';
import { endGroupLedBy, isGroupAlive } from '../../agent/processes/process-group.ts';
import { isAlive, type ProcessIdentity } from '../../git/system/process-identity.ts';
import { errnoOf } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Reading } from '../engine-context.ts';
import { cannotStop } from '../engine-errors.ts';
import { findLease, findLeaseRecord, findLeasesOf, type LeaseRecord } from '../leases/find-lease.ts';
import { LeaseHeld, requestStop, takeLease } from '../leases/lease.ts';
import { clearLeftSteps } from '../turn/step-folder.ts';
import { inPlaceOf } from '../../or-else.ts';

/** What a stop found: no process at work, or one that has ended now; `isKilled` if it had to be killed. */
export type StopOutcome = { wasRunning: boolean; isKilled: boolean };

const DEFAULT_GRACE_MS = 10_000;
const POLL_MS = 25;
/** How long after the grace time a process may take to end the work on one of its threads. An agent without a process may take 30 s. */
const UNHEARD_MS = 35_000;

type StopOptions = { graceMs?: number | undefined };

/**
 * Ends the work on a thread: asks the process at work to stop (it ends its agent's processes), and after the grace
 * time kills it together with its agent's process group. Of a child thread that its caller's process runs, only the work
 * on that thread ends.
 *
 * The thread stays where its last step left it. Where the process has died and left its agent, that is ended.
 * @throws {UwfError} `cannot-stop` if the process is on another machine, or not ours to stop
 */
export async function stopThread(engine: Reading, thread: string, options: StopOptions = {}): Promise<StopOutcome> {
  return afterStop(engine, thread, options, (outcome) => Promise.resolve(outcome));
}

/** The same, and does `then` before a process that ran the thread as a child looks at what has become of it. */
export async function afterStop<T>(
  { repository }: Reading,
  thread: string,
  { graceMs = DEFAULT_GRACE_MS }: StopOptions,
  then: (outcome: StopOutcome) => Promise<T>,
): Promise<T> {
  const { id } = await getThread(repository, thread);
  const stop = new Stop(repository, id);
  try {
    return await then(await stop.endWork(graceMs));
  } finally {
    stop.withdraw();
  }
}

class Stop {
  readonly #repository: Repository;
  readonly #thread: ThreadId;
  #asked: ProcessIdentity | undefined;
  #withdraw: (() => void) | undefined;

  constructor(repository: Repository, thread: ThreadId) {
    this.#repository = repository;
    this.#thread = thread;
  }

  async endWork(graceMs: number): Promise<StopOutcome> {
    const token = findLease(this.#repository, this.#thread)?.token;
    if (token === undefined) return endOrphans(this.#repository, this.#thread);
    const deadlineMs = performance.now() + graceMs;
    for (let isKilled = false; ; await sleep(POLL_MS)) {
      const lease = findLease(this.#repository, this.#thread);
      if (lease?.token !== token) {
        // A process that the signal ended before it listened has left its lease.
        await endOrphans(this.#repository, this.#thread);
        return { wasRunning: true, isKilled };
      }
      const overdueMs = performance.now() - deadlineMs;
      // A lease that is handed over to a process in the background changes its holder.
      if (lease.holder.pid !== this.#asked?.pid) this.#ask(lease);
      else if (overdueMs >= 0) isKilled = (await this.#kill(lease, overdueMs)) || isKilled;
    }
  }

  withdraw(): void {
    this.#withdraw?.();
  }

  #ask(lease: LeaseRecord): void {
    const { holder } = lease;
    const { pid, host } = holder;
    if (isAlive(holder) === 'other-host') throw cannotStop(this.#thread, `process ${pid} runs on ${host}`);
    this.#asked = holder;
    if (lease.stopRequest !== undefined) {
      this.#withdraw = requestStop(this.#repository, this.#thread, lease);
      return;
    }
    if (pid === process.pid) throw cannotStop(this.#thread, "it is this very process; abort the engine's signal");
    signal(this.#thread, holder, 'SIGTERM');
  }

  /** Kills the process; of one that works on other threads too, only the agent of this thread. @returns false if it killed nothing */
  async #kill({ holder, stopRequest, processGroups }: LeaseRecord, overdueMs: number): Promise<boolean> {
    if (stopRequest === undefined) {
      signal(this.#thread, holder, 'SIGKILL');
      while (isAlive(holder) === true) await sleep(POLL_MS);
      return true;
    }
    if (overdueMs >= UNHEARD_MS) {
      const where = `process ${holder.pid}, which works on its caller too, does not answer`;
      throw cannotStop(this.#thread, where, 'stop the thread that called it');
    }
    const groups = processGroups.filter(({ pid }) => isGroupAlive(pid));
    // An agent that dies before the request is heard has failed: it would be started, and paid, again.
    if (stopRequest === 'awaited' || groups.length === 0) return false;
    for (const group of groups) await endGroupLedBy(group, 0);
    return true;
  }
}

/** Ends the agents that a dead process left, and gives its lease back. They may work for a child thread, whose lease names them. */
async function endOrphans(repository: Repository, thread: ThreadId): Promise<StopOutcome> {
  const left = findLeaseRecord(repository, thread);
  if (!left || isAlive(left.holder) !== false) return { wasRunning: false, isKilled: false };
  const groups = findLeasesOf(repository, left.holder).flatMap(({ processGroups }) => processGroups);
  const wasRunning = groups.some((group) => isGroupAlive(group.pid));
  for (const group of groups) await endGroupLedBy(group, 0);
  // To take a dead lease over is to clean up after it. It is held where another process has taken it over, to go on.
  const lease = await takeLease(repository, thread).catch(inPlaceOf(LeaseHeld, undefined));
  if (lease !== undefined) await clearLeftSteps(repository, (each) => each === thread).finally(() => lease.release());
  return { wasRunning, isKilled: wasRunning };
}

function signal(thread: ThreadId, holder: ProcessIdentity, name: NodeJS.Signals): void {
  // Its number may be another's by now.
  if (isAlive(holder) === false) return;
  try {
    process.kill(holder.pid, name);
  } catch (error) {
    // ESRCH: it ended by itself.
    if (errnoOf(error) !== 'ESRCH') throw cannotStop(thread, `process ${holder.pid}`);
  }
}
