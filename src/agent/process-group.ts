import { setTimeout as sleep } from 'node:timers/promises';

import { identityOf, ownIdentity } from '../git/process-identity.ts';
import type { ProcessIdentity } from '../git/process-identity.ts';
import { runningProcesses } from './process-table.ts';

/** How long a group that got SIGKILL is waited for: only a process stuck in the kernel needs more than a moment. */
const KILL_WAIT_MS = 10_000;
const MAX_POLL_MS = 50;

/**
 * Tells whether a process of the group still runs.
 *
 * A zombie counts as gone: where nobody collects orphans (a container without an init), it would be there for ever, and it
 * neither works nor holds anything. Processes of another user that may not be signalled count as alive.
 * @see kill(2), proc(5)
 */
export function isGroupAlive(pgid: number): boolean {
  if (!isGroupId(pgid)) return false;
  try {
    process.kill(-pgid, 0);
  } catch (error) {
    // macOS answers EPERM for a group of zombies, so there it cannot mean that somebody is alive.
    if (errorCode(error) !== 'EPERM' || process.platform === 'darwin') return false;
  }
  return runningProcesses()?.some(({ group }) => group === pgid) ?? true;
}

/**
 * Ends a process group: SIGTERM to all of it, SIGKILL to what is left after `graceMs`.
 *
 * Resolves with true once no process of the group runs, and with false where something is still there 10 s after SIGKILL
 * (stuck in the kernel, or not ours to signal). A group that is gone already is fine. For groups that this very process
 * started; for others see {@link endGroupLedBy}.
 */
export async function endProcessGroup(pgid: number, graceMs: number): Promise<boolean> {
  if (!isGroupAlive(pgid)) return true;
  signalGroup(pgid, 'SIGTERM');
  // A stopped process (SIGSTOP, a terminal's SIGTTIN) sees the signal only when it goes on.
  signalGroup(pgid, 'SIGCONT');
  if (await isGoneWithin(pgid, graceMs)) return true;
  signalGroup(pgid, 'SIGKILL');
  return isGoneWithin(pgid, KILL_WAIT_MS);
}

/**
 * Ends the process group that another process, maybe long ago, wrote down by its leader's identity.
 *
 * The number of a group that is gone is given again: after a boot, or once its last process has ended. So nothing is
 * signalled where the machine has booted since, or where the leader's pid is now that of a process started at another
 * time. Resolves as {@link endProcessGroup} does, and with false for a group on another host or in another container,
 * which cannot be looked at from here.
 */
export async function endGroupLedBy(leader: ProcessIdentity, graceMs: number): Promise<boolean> {
  const place = placeOfGroup(leader);
  return place === 'here' ? endProcessGroup(leader.pid, graceMs) : place === 'gone';
}

/** The processes that run in the group that a leader was written down for; none where that cannot be seen from here. */
export function processesOfGroup(leader: ProcessIdentity): number[] {
  if (placeOfGroup(leader) !== 'here' || !isGroupAlive(leader.pid)) return [];
  const running = runningProcesses()?.filter(({ group }) => group === leader.pid);
  return running?.map(({ pid }) => pid) ?? [leader.pid];
}

/** Whether a group can be on this machine still: its number may be another's by now. */
function placeOfGroup(leader: ProcessIdentity): 'here' | 'gone' | 'elsewhere' {
  const here = ownIdentity();
  if (leader.host !== here.host || leader.pidNamespace !== here.pidNamespace) return 'elsewhere';
  if (leader.bootId !== here.bootId) return 'gone';
  const { startTime } = identityOf(leader.pid);
  return startTime !== '' && leader.startTime !== '' && startTime !== leader.startTime ? 'gone' : 'here';
}

async function isGoneWithin(pgid: number, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
    if (!isGroupAlive(pgid)) return true;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

function signalGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch {
    // Gone in between, or not ours: the wait that follows tells which.
  }
}

/** 0 would mean our own group and 1 everybody: neither is ever a group that an agent started. */
function isGroupId(pgid: number): boolean {
  return Number.isSafeInteger(pgid) && pgid > 1;
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
