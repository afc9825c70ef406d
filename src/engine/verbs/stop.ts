import { setTimeout as sleep } from 'node:timers/promises';
import { endGroupLedBy, isGroupAlive } from '../../agent/processes/process-group.ts';
import { isAlive, type ProcessIdentity } from '../../git/system/process-identity.ts';
import { errnoOf } from '../../git/format/object-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { cannotStop } from '../engine-errors.ts';
import { findLease, findLeaseRecord, findLeasesOf } from '../leases/find-lease.ts';
import { LeaseHeld, takeLease } from '../leases/lease.ts';
import { inPlaceOf } from '../../or-else.ts';

/** What a stop found: no process at work, or one that has ended now; `isKilled` if it had to be killed. */
export type StopOutcome = { wasRunning: boolean; isKilled: boolean };

const DEFAULT_GRACE_MS = 10_000;
const POLL_MS = 25;

/**
 * Ends the work on a thread: asks the process at work to stop (it ends its agent's processes), and after the grace
 * time kills it together with its agent's process group.
 *
 * The thread stays where its last step left it. Where the process has died and left its agent, that is ended.
 * @throws {UwfError} `cannot-stop` if the process is on another machine, or not ours to stop
 */
export async function stopThread(
  engine: EngineContext,
  thread: string,
  options: { graceMs?: number | undefined } = {},
): Promise<StopOutcome> {
  const { repository } = engine;
  const { id } = await getThread(repository, thread);
  const token = findLease(repository, id)?.token;
  if (token === undefined) return endOrphans(repository, id);
  const deadlineMs = performance.now() + (options.graceMs ?? DEFAULT_GRACE_MS);
  let asked: ProcessIdentity | undefined;
  for (;;) {
    const lease = findLease(repository, id);
    if (lease?.token !== token) {
      // A process that the signal ended before it listened has left its lease.
      await endOrphans(repository, id);
      return { wasRunning: true, isKilled: false };
    }
    const { holder } = lease;
    if (performance.now() >= deadlineMs) {
      await kill(repository, id, holder);
      return { wasRunning: true, isKilled: true };
    }
    // A lease that is handed over to a process in the background changes its holder.
    if (holder.pid !== asked?.pid) ask(id, holder);
    asked = holder;
    await sleep(POLL_MS);
  }
}

function ask(thread: ThreadId, holder: ProcessIdentity): void {
  if (isAlive(holder) === 'other-host') throw cannotStop(thread, `process ${holder.pid} runs on ${holder.host}`);
  if (holder.pid === process.pid) throw cannotStop(thread, "it is this very process; abort the engine's signal");
  signal(thread, holder, 'SIGTERM');
}

async function kill(repository: Repository, thread: ThreadId, holder: ProcessIdentity): Promise<void> {
  signal(thread, holder, 'SIGKILL');
  while (isAlive(holder) === true) await sleep(POLL_MS);
  await endOrphans(repository, thread);
}

/** Ends the agents that a process left behind when it died, and gives its lease back. They may work for a child thread, whose lease names them. */
async function endOrphans(repository: Repository, thread: ThreadId): Promise<StopOutcome> {
  const left = findLeaseRecord(repository, thread);
  if (!left || isAlive(left.holder) !== false) return { wasRunning: false, isKilled: false };
  const groups = findLeasesOf(repository, left.holder).flatMap(({ processGroups }) => processGroups);
  const wasRunning = groups.some((group) => isGroupAlive(group.pid));
  for (const group of groups) await endGroupLedBy(group, 0);
  // To take a dead lease over is to clean up after it. It is held where another process has taken it over, to go on.
  const lease = await takeLease(repository, thread).catch(inPlaceOf(LeaseHeld, undefined));
  lease?.release();
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
