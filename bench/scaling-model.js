import { loadSource } from './lib/load-source.js';
import { measured } from './scaling/measured.js';

const DAY_S = 86_400;

/**
 * 1,000 workers and a million threads a day of five steps, at hosts of 16 cores.
 *
 * @type {import('./scaling/scenario.ts').Scenario}
 */
const million = {
  queue: 'git',
  hosts: 1,
  coresOfHost: 16,
  costs: measured['http-backend'],
  workers: 1000,
  atOnce: 4,
  workerCosts: { begin: 150, turn: 200, look: 30 },
  sharedCores: null,
  backlog: 0,
  threadsASecond: 1_000_000 / DAY_S,
  stepsOfThread: 5,
  turn: { medianMs: 30_000, sigma: 0.8 },
  poll: { minMs: 1000, maxMs: 30_000 },
  renewEveryMs: 20_000,
  redisMs: 2,
  durationMs: 500_000,
  warmUpMs: 300_000,
  seed: 20,
};

const every = (seconds) => ({ poll: { minMs: 1000 * seconds, maxMs: 1000 * seconds } });

/** The model of docs/scaling.md: what comes of the measured costs with very many workers. */
export const scalingModel = {
  name: 'scaling-model',
  summary: 'a simulation of 1,000 workers and a million threads a day, by the costs that were measured',
  isSlow: true,

  async *compare({ quick }) {
    const { simulate } = await loadSource('bench/scaling/simulate.ts');
    const time = quick ? { durationMs: 200_000, warmUpMs: 100_000 } : {};
    const compare = (what, scenarios) => ({
      what,
      base: Object.keys(scenarios)[0],
      rounds: 1,
      contestants: Object.fromEntries(
        Object.entries(scenarios).map(([name, changes]) => [
          name,
          (round) => (round === 0 ? {} : figuresOf(simulate({ ...million, ...time, ...changes }))),
        ]),
      ),
    });
    yield compare('wait of a thread for a worker, in ms, and cores of hosts in %, by the time between two looks', {
      '1 to 30 s': {},
      ...Object.fromEntries([1, 2, 5, 10, 30].map((seconds) => [`${seconds} s`, every(seconds)])),
    });
    yield compare('1,000 workers without work', {
      '1 to 30 s': { threadsASecond: 0 },
      ...Object.fromEntries([1, 5, 30].map((seconds) => [`${seconds} s`, { threadsASecond: 0, ...every(seconds) }])),
    });
    yield compare('threads over hosts of 16 cores, a look every 10 s', {
      '1 host': every(10),
      ...Object.fromEntries([2, 4, 8].map((hosts) => [`${hosts} hosts`, { hosts, ...every(10) }])),
      '1 host, sshd': { ...every(10), costs: measured.sshd },
      '8 hosts, sshd': { ...every(10), hosts: 8, costs: measured.sshd },
    });
    const many = measured['http-backend, 100,000 refs'];
    yield compare('100,000 refs of ended threads at each host, a look every 10 s', {
      archived: every(10),
      '1 host': { ...every(10), costs: many },
      '4 hosts': { ...every(10), hosts: 4, costs: many },
    });
    yield compare('over Redis', {
      '1 host': { queue: 'redis' },
      '2 hosts': { queue: 'redis', hosts: 2 },
      '4 hosts': { queue: 'redis', hosts: 4 },
    });
  },
};

function figuresOf({ waitMs, stepsASecond, hostUse, agentUse, lostClaims, threadsWaiting }) {
  const percent = (part) => Math.round(1000 * part) / 10;
  return {
    tookMs: waitMs,
    'steps/s': stepsASecond,
    ...Object.fromEntries(Object.entries(hostUse).map(([kind, part]) => [kind, percent(part)])),
    'host %': percent(Object.values(hostUse).reduce((sum, part) => sum + part, 0)),
    'agents %': percent(agentUse),
    'lost claims %': percent(lostClaims),
    waiting: threadsWaiting,
  };
}
