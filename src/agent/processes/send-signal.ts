import { setTimeout as sleep } from 'node:timers/promises';

const MAX_POLL_MS = 50;

/** Sends a signal to a process, or with a negative number to a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in between, or is not ours: the wait that follows tells which.
  }
}

/** Waits for something to become true, and tells whether it did within a time. */
export async function isTrueWithin(waitMs: number, isTrue: () => boolean): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  for (let pauseMs = 2; !isTrue(); pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
  return true;
}
