import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { redisUrl, startRedis, stopRedis } from './redis.js';
import { runAlone, runTeam } from './team.js';

/** Compares what a step costs a worker with what it costs `uwf thread run` on the same machine. The agents do nothing. */
export function compareStep(root, { threads }) {
  const how = (name, run) => async (round) => {
    if (round === 0) return {};
    const folder = join(root, `step-${name}-${round}`);
    mkdirSync(folder);
    const { tookMs, workerCpuMs, hostCpuMs } = await run(folder);
    const steps = 5 * threads;
    return { tookMs: tookMs / steps, 'CPU ms a step': workerCpuMs, 'host CPU ms a step': hostCpuMs };
  };
  const options = { workers: 1, threads, turnSeconds: 0 };
  return {
    what: `a step of ${threads} threads of 5 steps, without an agent's time`,
    base: 'uwf thread run',
    rounds: 3,
    contestants: {
      'uwf thread run': how('run', (folder) => runAlone(folder, options)),
      'a worker, git alone': how('git', (folder) => runTeam(folder, options)),
      'a worker, Redis': how('redis', async (folder) => {
        const server = await startRedis();
        try {
          return await runTeam(folder, { ...options, queue: redisUrl });
        } finally {
          await stopRedis(server);
        }
      }),
    },
  };
}
