import { setTimeout as sleep } from 'node:timers/promises';
import { tryTo } from '../../or-else.ts';
import { monotonicMs } from '../../monotonic-ms.ts';

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
