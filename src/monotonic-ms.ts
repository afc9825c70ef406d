/**
 * Milliseconds of a clock that only goes forward, like `performance.now()`. The first use of `performance` has Node load a
 * module, which takes longer than many of the things that are timed.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
