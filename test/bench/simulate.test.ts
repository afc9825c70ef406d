import { expect, test } from 'vitest';
import type { Scenario } from '../../bench/scaling/scenario.ts';
import { simulate } from '../../bench/scaling/simulate.ts';

const one: Scenario = {
  queue: 'git',
  hosts: 1,
  coresOfHost: 1,
  costs: { look: 10, lookForEach: 0, claim: 30, step: 40, fetch: 10 },
  workers: 1,
  atOnce: 1,
  workerCosts: { begin: 100, turn: 200, look: 0 },
  sharedCores: null,
  backlog: 1,
  threadsASecond: 0,
  stepsOfThread: 5,
  turn: { medianMs: 1000, sigma: 0 },
  poll: { minMs: 1000, maxMs: 1000 },
  renewEveryMs: 1e9,
  redisMs: 2,
  durationMs: 60_000,
  warmUpMs: 0,
  seed: 1,
};

test('one worker takes a thread after one look, and each step takes its turn and its push', () => {
  const { endedMs, waitMs } = simulate(one);
  const turns = 5 * (1000 + 200 + 40);
  // A look and a fetch of what is new, a claim, a fetch and the beginning.
  const before = 10 + 10 + 30 + 10 + 100;
  expect(endedMs - waitMs).toBe(turns);
  expect(waitMs).toBeGreaterThanOrEqual(before);
  expect(waitMs).toBeLessThanOrEqual(before + 1000);
});

test('the same seed has the same outcome, and another one another', () => {
  const busy: Scenario = {
    ...one,
    workers: 20,
    backlog: 0,
    threadsASecond: 2,
    turn: { medianMs: 1000, sigma: 0.8 },
    durationMs: 30_000,
  };
  expect(simulate(busy)).toEqual(simulate(busy));
  expect(simulate({ ...busy, seed: 2 })).not.toEqual(simulate(busy));
});

test('workers without work cost the host their looks alone', () => {
  const idle: Scenario = { ...one, workers: 50, backlog: 0, poll: { minMs: 2000, maxMs: 2000 }, durationMs: 600_000 };
  const { hostUse } = simulate(idle);
  expect(hostUse.looks).toBeCloseTo((50 / 2) * 0.01, 2);
  expect({ ...hostUse, looks: 0 }).toEqual({ looks: 0, claims: 0, steps: 0, fetches: 0, renewals: 0, starts: 0 });
});

test('a worker that finds nothing looks ever less often', () => {
  const idle: Scenario = { ...one, backlog: 0, durationMs: 600_000 };
  const often = simulate(idle).hostUse.looks;
  const seldom = simulate({ ...idle, poll: { minMs: 1000, maxMs: 30_000 } }).hostUse.looks;
  expect(often / seldom).toBeGreaterThan(20);
});

test('of workers that want the same thread one has it, and the others have lost a claim', () => {
  const { lostClaims, stepsASecond } = simulate({ ...one, workers: 100 });
  expect(lostClaims).toBeGreaterThan(0);
  expect(stepsASecond * 60).toBeCloseTo(5, 6);
});

test('threads over two hosts cost each of them half', () => {
  const full: Scenario = { ...one, workers: 40, backlog: 0, threadsASecond: 2, durationMs: 300_000, warmUpMs: 60_000 };
  const sum = (hosts: number): number => simulate({ ...full, hosts }).hostUse.steps;
  expect(sum(2) / sum(1)).toBeCloseTo(0.5, 1);
});

test('a host that is asked for more than it can do is the limit of the steps', () => {
  const { stepsASecond, hostUse } = simulate({
    ...one,
    workers: 200,
    backlog: 10_000,
    turn: { medianMs: 100, sigma: 0 },
    poll: { minMs: 30_000, maxMs: 30_000 },
    durationMs: 120_000,
    warmUpMs: 60_000,
  });
  expect(hostUse.steps).toBeGreaterThan(0.5);
  expect(stepsASecond).toBeLessThanOrEqual(1000 / one.costs.step);
});

test('over Redis no claims are pushed, and a turn begins without a look', () => {
  const { hostUse, waitMs } = simulate({ ...one, queue: 'redis' });
  expect(hostUse.claims + hostUse.renewals).toBe(0);
  expect(waitMs).toBe(2 + 10 + 100);
});
