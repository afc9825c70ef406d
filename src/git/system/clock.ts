import { UwfError } from '../../errors.ts';

/** The end of the year 9999: refs of ended threads name the day with four digits of the year. */
const MAX_CLOCK_MS = Date.UTC(10_000, 0, 1) - 1;

/** The clock of this machine shows a time at which no commit and no thread can be made. Nothing was stored. */
class ClockOutOfRange extends UwfError {
  constructor(nowMs: number) {
    super(`the clock of this machine is not between the years 1970 and 9999: it shows ${nowMs} ms since 1970`, {
      code: 'clock-out-of-range',
      kind: 'environment',
      hint: 'set the clock, and repeat',
      facts: { nowMs },
    });
  }
}

/** A clock that gives only times which git and the names of refs can hold. @throws {ClockOutOfRange} when it is read, for any other */
export function checkedClock(now: () => number): () => number {
  return () => {
    const nowMs = now();
    if (nowMs >= 0 && nowMs <= MAX_CLOCK_MS) return nowMs;
    throw new ClockOutOfRange(nowMs);
  };
}
