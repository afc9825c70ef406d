import { setTimeout as sleep } from 'node:timers/promises';
import { endGroupLedBy } from '../agent/process-group.ts';
import { isAlive } from '../git/process-identity.ts';
import { getThread } from '../thread/find-thread.ts';
import type { EngineContext } from './context.ts';
import { CannotStop } from './engine-errors.ts';
import { findLease } from './lease.ts';

/** What a stop found: nobody at work, or somebody who is now gone; `isKilled` if it had to be forced. */
export type StopOutcome = { wasRunning: boolean; isKilled: boolean };

const DEFAULT_GRACE_MS = 10_000;
const POLL_MS = 25;

/**
 * Ends the work on a thread: asks the process at work to stop (it ends its agent's processes), and after the grace
 * time kills it together with its agent's process group.
 *
 * The thread stays where its last step left it.
 * @throws {CannotStop} if the process is on another machine, or not ours to stop
 */
export async function stopThread(
  context: EngineContext,
  thread: string,
  options: { graceMs?: number } = {},
): Promise<StopOutcome> {
  const { id } = await getThread(context.repository, thread);
  const lease = findLease(context.repository, id);
  if (!lease) return { wasRunning: false, isKilled: false };
  if (isAlive(lease.holder) === 'other-host')
    throw new CannotStop(id, `process ${lease.holder.pid} runs on ${lease.holder.host}`);
  if (lease.holder.pid === process.pid) throw new CannotStop(id, "it is this very process; abort the engine's signal");
  signal(id, lease.holder.pid, 'SIGTERM');
  const deadlineMs = performance.now() + (options.graceMs ?? DEFAULT_GRACE_MS);
  while (performance.now() < deadlineMs) {
    if (findLease(context.repository, id)?.token !== lease.token) return { wasRunning: true, isKilled: false };
    await sleep(POLL_MS);
  }
  const group = findLease(context.repository, id)?.processGroup;
  signal(id, lease.holder.pid, 'SIGKILL');
  if (group) await endGroupLedBy(group, 0);
  while (isAlive(lease.holder) === true) await sleep(POLL_MS);
  return { wasRunning: true, isKilled: true };
}

function signal(thread: string, pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // NodeJS adds `code` to every error of a system call. ESRCH: it ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw new CannotStop(thread, `process ${pid}`);
  }
}
