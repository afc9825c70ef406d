// The room time: a clock that only goes forward and the forms of times; `run-in-time.ts` stops work that takes too long.

/**
 * Milliseconds of a clock that only goes forward, like `performance.now()`. The first use of `performance` has Node load a
 * module, which takes longer than many of the things that are timed.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** A time in ms since 1970, as ISO 8601 in UTC. */
export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** 24 days. Node lets a timer that is to run for longer run out at once. Source: its documentation of `setTimeout`. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;
