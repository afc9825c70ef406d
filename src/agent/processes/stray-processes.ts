import { readFileSync } from 'node:fs';

import { identityOf } from '../../git/system/process-identity.ts';
import { descendantsOf, runningProcesses } from './process-table.ts';
import { isTrueWithin, sendSignal } from './send-signal.ts';
import { orElse } from '../../or-else.ts';
import { monotonicMs } from '../../monotonic-ms.ts';

/** A process. Its start time tells it from a later process with the same id. */
export type FoundProcess = { pid: number; startTime: string };

const POLL_MS = 20;
const KILL_WAIT_MS = 10_000;

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
 * @param leader as in {@link findStrays}
 * @param sign as in {@link findStrays}
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
