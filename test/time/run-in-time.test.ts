import { expect, test } from 'vitest';
import { runInTime } from '../../src/time/run-in-time.ts';

const timedOut = (cause: unknown): Error => new Error('the time is up', { cause });

/** Waits as a process does that gets no processor. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('work that other processes kept from a processor for its whole time is run again, and gives its result', () => {
  let runs = 0;
  const work = (): number => {
    runs += 1;
    if (runs < 3) stall(60_000);
    return runs;
  };
  expect(runInTime(work, 50, timedOut)).toBe(3);
});

test('work that has had its time of a processor is stopped, and so is work that gets none for ten times its limit', () => {
  let runs = 0;
  const spin = (): never => {
    for (runs += 1; ;);
  };
  expect(() => runInTime(spin, 50, timedOut)).toThrow('the time is up');
  expect(() => runInTime(() => stall(60_000), 20, timedOut)).toThrow('the time is up');
});
