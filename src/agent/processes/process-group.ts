import { identityOf, ownIdentity } from '../../git/system/process-identity.ts';
import type { ProcessIdentity } from '../../git/system/process-identity.ts';
import { runningProcesses } from './process-table.ts';
import { isTrueWithin, sendSignal } from './send-signal.ts';
import { errnoOf } from '../../git/format/object-errors.ts';

/** How long a group that got SIGKILL is waited for: only a process stuck in the kernel needs more than a moment. */
const KILL_WAIT_MS = 10_000;

/**
 * Tells whether a process of the group still runs.
 *
 * A zombie counts as gone: where no process collects orphans (a container without an init), it stays for ever, and it
 * neither works nor holds anything. Processes of another user that may not be signalled count as alive.
 * @see kill(2), proc(5)
 */
export function isGroupAlive(pgid: number): boolean {
  // A signal to group 0 goes to uwf's own group, and to group 1 to all processes. No agent starts a group of these numbers.
  if (!Number.isSafeInteger(pgid) || pgid <= 1) return false;
  try {
    process.kill(-pgid, 0);
  } catch (error) {
    // macOS answers EPERM for a group of zombies, so there it does not show that a process is alive.
    if (errnoOf(error) !== 'EPERM' || process.platform === 'darwin') return false;
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
  const isGone = (): boolean => !isGroupAlive(pgid);
  if (isGone()) return true;
  sendSignal(-pgid, 'SIGTERM');
  // A stopped process (SIGSTOP, a terminal's SIGTTIN) sees the signal only when it goes on.
  sendSignal(-pgid, 'SIGCONT');
  if (await isTrueWithin(graceMs, isGone)) return true;
  sendSignal(-pgid, 'SIGKILL');
  return isTrueWithin(KILL_WAIT_MS, isGone);
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
