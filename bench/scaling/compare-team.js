import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { loadSource } from '../lib/load-source.js';
import { measured } from './measured.js';
import { runTeam } from './team.js';

/** Compares what real workers of this machine do with what the model says of them, whose costs are those of one worker. */
export async function compareTeam(root, { threads, turnSeconds }) {
  const { simulate } = await loadSource('bench/scaling/simulate.ts');
  let turn = 0;
  const team = (workers) => async (round) => {
    if (round === 0) return {};
    const folder = join(root, `team-${workers}`);
    mkdirSync(folder);
    const { tookMs, workerCpuMs, hostCpuMs } = await runTeam(folder, { workers, threads, turnSeconds });
    if (workers === 1) turn = workerCpuMs;
    const { endedMs } = simulate(scenarioOf({ workers, threads, turnSeconds, turn }));
    const steps = 5 * threads;
    return {
      tookMs,
      'steps/s': (1000 * steps) / tookMs,
      'predicted steps/s': (1000 * steps) / endedMs,
      'worker CPU ms a step': workerCpuMs,
      'host CPU ms a step': hostCpuMs,
    };
  };
  return {
    what: `${threads} threads of 5 steps, turns of ${turnSeconds} s, real workers and the model`,
    base: '1 worker',
    rounds: 1,
    contestants: { '1 worker': team(1), '2 workers': team(2), '4 workers': team(4) },
  };
}

/** @returns {import('./scenario.ts').Scenario} */
function scenarioOf({ workers, threads, turnSeconds, turn }) {
  return {
    queue: 'git',
    hosts: 1,
    coresOfHost: availableParallelism(),
    costs: measured['http-backend'],
    workers,
    atOnce: 1,
    workerCosts: { begin: 0, turn, look: 0 },
    sharedCores: availableParallelism(),
    backlog: threads,
    threadsASecond: 0,
    stepsOfThread: 5,
    turn: { medianMs: 1000 * turnSeconds, sigma: 0 },
    poll: { minMs: 1000, maxMs: 1000 },
    renewEveryMs: 20_000,
    redisMs: 0,
    durationMs: 3_600_000,
    warmUpMs: 0,
    seed: 1,
  };
}
