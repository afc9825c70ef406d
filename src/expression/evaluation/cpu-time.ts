import { processFields } from '../../git/system/process-identity.ts';
import { monotonicMs } from '../../monotonic-ms.ts';

/** Linux counts in hundredths of a second whatever the kernel does. Source: proc(5), times(7), `USER_HZ`. */
const MS_PER_TICK = 10;

/** The processor time of this process, and when it was asked for. */
let latest = { cpuMs: 0, askedMs: -Infinity };

/** Asking the system takes as long as a short evaluation, so a value is used again for this part of the time limit. */
const MAX_AGE = 0.01;

/**
 * Starts a time limit that counts only the processor time of this process, not the time of waiting for a processor.
 *
 * @param timeoutMs of processor time
 * @returns a function that returns the limit as wall time, in ms, as it is now
 */
export function startTimeBox(timeoutMs: number): () => number {
  const startedMs = monotonicMs();
  if (startedMs - latest.askedMs > timeoutMs * MAX_AGE) latest = { cpuMs: cpuMsNow(), askedMs: startedMs };
  const before = latest.cpuMs;
  return () => {
    const wallMs = monotonicMs() - startedMs;
    // Called for every part of an expression: asking the system takes longer than evaluating the part.
    if (wallMs < timeoutMs) return timeoutMs;
    return timeoutMs + Math.max(0, wallMs - (cpuMsNow() - before));
  };
}

function cpuMsNow(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The processor time that another process has had, in ms; `undefined` where the system has no `/proc`, or it has ended. */
export function cpuTimeOf(pid: number): number | undefined {
  // User and system time are the fields 14 and 15 of all, and the state is the third.
  const [user, system] = processFields(pid).slice(11, 13).map(Number);
  return user === undefined || system === undefined ? undefined : (user + system) * MS_PER_TICK;
}
