import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { Drain } from '../../src/worker/worker.ts';
import { turnJob } from './bullmq/turn-job.ts';

const MINUTE_MS = 60_000;
const untrusted = new UwfError('not agreed to', { code: 'not-trusted', kind: 'agent' });
const held = new UwfError('a secret', { code: 'step-held-back', kind: 'data' });

beforeEach(() => void vi.useFakeTimers({ toFake: ['hrtime'] }));
afterEach(() => void vi.useRealTimers());

test('a drain is over at once where nothing can go on, and not while others are at work', () => {
  const drain = new Drain('origin', []);
  expect(drain.isOver([], false)).toBe(false);
  expect(drain.isOver([], true)).toBe(true);
  expect(() => drain.tellLeft(expect.unreachable)).not.toThrow();
});

test('it waits for others before it leaves turns that need labels which the worker has not', () => {
  const drain = new Drain('origin', ['gpu']);
  const jobs = [turnJob(['docker', 'gpu']), turnJob(['docker'])];
  expect(drain.isOver([...jobs, turnJob(['gpu'])], true)).toBe(false);
  expect(drain.isOver(jobs, true)).toBe(false);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(drain.isOver(jobs, false)).toBe(false);
  expect(drain.isOver(jobs, true)).toBe(false);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(drain.isOver(jobs, true)).toBe(true);
  const told: string[] = [];
  drain.tellLeft((text) => told.push(text));
  expect(told).toEqual(['2 threads left at origin for workers with these labels: docker, gpu']);
});

test.each([
  [[untrusted, held], 'agent'],
  [[held], 'data'],
])('it leaves turns that failed here, and says so by its error', (errors, kind) => {
  const drain = new Drain('origin', []);
  const jobs = errors.map(() => turnJob());
  for (const [at, error] of errors.entries()) drain.tellUnable(jobs[at]!, error);
  expect(drain.isOver(jobs, true)).toBe(false);
  // The thread has moved: it is another turn.
  const moved = jobs.map((job) => ({ ...turnJob(), thread: job.thread }));
  vi.advanceTimersByTime(MINUTE_MS);
  expect(drain.isOver(moved, true)).toBe(false);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(drain.isOver(jobs, true)).toBe(true);
  const code = { code: 'turns-left', kind };
  expect(() => drain.tellLeft(expect.unreachable)).toThrow(expect.objectContaining(code));
});
