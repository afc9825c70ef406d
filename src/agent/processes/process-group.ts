import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../../git/format/errors.ts';
import { identityOf, ownIdentity, processFields, type ProcessIdentity } from '../../git/system/process-identity.ts';
import { monotonicMs } from '../../time/clock.ts';
import { orElse, tryTo } from '../../or-else.ts';

/** How long processes that got SIGKILL are waited for: only a process stuck in the kernel needs more than a moment. */
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

/** A process that runs: one that has ended and waits to be collected (a zombie) is not listed. */
type RunningProcess = { pid: number; parent: number; group: number };

/**
 * Lists the processes that run on this machine, as far as they can be seen from here; `undefined` where the system has
 * no `/proc`.
 * @see proc(5), `/proc/<pid>/stat`
 */
export function runningProcesses(): RunningProcess[] | undefined {
  const names = orElse(() => readdirSync('/proc'), undefined);
  return names?.flatMap((name) => {
    if (!/^\d+$/u.test(name)) return [];
    const [state, parent, group] = processFields(Number(name));
    return state === undefined ? [] : [{ pid: Number(name), parent: Number(parent), group: Number(group) }];
  });
}

/** The children of a process, their children and so on; empty where the system has no `/proc`. */
export function descendantsOf(pid: number): number[] {
  const processes = runningProcesses() ?? [];
  const found = new Set([pid]);
  // Children of processes found in this round are found in the next one.
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const process of processes) if (found.has(process.parent)) found.add(process.pid);
  }
  found.delete(pid);
  return [...found];
}

const MAX_POLL_MS = 50;

/** Sends a signal to a process, or with a negative number to a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  // It may have ended in between, or belong to another user: the wait that follows tells which.
  tryTo(() => process.kill(pid, signal));
}

/** Waits for something to become true, and tells whether it did within a time. */
export async function isTrueWithin(waitMs: number, isTrue: () => boolean): Promise<boolean> {
  const deadline = monotonicMs() + waitMs;
  for (let pauseMs = 2; !isTrue(); pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
    const leftMs = deadline - monotonicMs();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
  return true;
}

/** A process. Its start time tells it from a later process with the same id. */
type FoundProcess = { pid: number; startTime: string };

const POLL_MS = 20;

/**
 * Finds the processes that belong to a turn but are out of its process group: what a program has started in a session of
 * its own (setsid(2)), as agents do with the commands of their models.
 *
 * They are known by their ancestor, or where that has ended by what they have inherited. Empty where the system has no
 * `/proc`.
 * @param leader the program that the turn started
 * @param sign what no other program has: the folder of the step in the environment (`UWF_STEP_DIR`), or a number as the
 * limit of file locks, which stays where the environment is cleared
 * @see proc(5), `/proc/<pid>/environ`, `/proc/<pid>/limits`
 */
export function findStrays(leader: number, sign: string | number): FoundProcess[] {
  const descendants = new Set(descendantsOf(leader));
  const strays = (runningProcesses() ?? []).filter(
    ({ pid, group }) => pid !== process.pid && group !== leader && (descendants.has(pid) || hasInherited(pid, sign)),
  );
  return strays.map(({ pid }) => asFound(pid));
}

/**
 * Ends processes one by one: SIGTERM, and SIGKILL for what is left after `graceMs`, with what they start meanwhile.
 *
 * Resolves once none of them runs, or none that can be ended.
 * @param found as {@link findStrays} found them: a process that had started before and ended since is not mistaken
 */
export async function endStrays(
  found: readonly FoundProcess[],
  leader: number,
  sign: string | number,
  graceMs: number,
): Promise<void> {
  if (found.length === 0) return;
  signalAll(found, 'SIGTERM');
  if (await isTrueWithin(graceMs, () => !found.some(isThere))) return;
  // A program that starts others in a loop has new ones at each look, until it has ended itself.
  const deadline = monotonicMs() + KILL_WAIT_MS;
  for (let left = [...found]; left.length > 0 && monotonicMs() < deadline; left = stillThere(found, leader, sign)) {
    signalAll(left, 'SIGKILL');
    await isTrueWithin(POLL_MS, () => !left.some(isThere));
  }
}

/** Those that were found and still run, what they have started, and what the leader has. */
function stillThere(found: readonly FoundProcess[], leader: number, sign: string | number): FoundProcess[] {
  const known = found.filter(isThere);
  const started = known.flatMap(({ pid }) => descendantsOf(pid)).map(asFound);
  return [...known, ...started, ...findStrays(leader, sign)];
}

function asFound(pid: number): FoundProcess {
  return { pid, startTime: identityOf(pid).startTime };
}

function signalAll(processes: readonly FoundProcess[], signal: NodeJS.Signals): void {
  for (const { pid } of processes.filter(isThere)) sendSignal(pid, signal);
}

/** A zombie has no start time any more, so that it counts as gone. */
function isThere({ pid, startTime }: FoundProcess): boolean {
  return startTime !== '' && identityOf(pid).startTime === startTime;
}

function hasInherited(pid: number, sign: string | number): boolean {
  // An error: it has ended since it was listed, or is another user's.
  return orElse(() => {
    if (typeof sign === 'string') {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      return environment.split('\0').includes(`UWF_STEP_DIR=${sign}`);
    }
    return Number(/^Max file locks\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1]) === sign;
  }, false);
}
