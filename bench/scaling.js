import { join } from 'node:path';
import { median } from './lib/median.js';
import { temporaryFolder } from './lib/temporary-folder.js';
import { compareIdle } from './scaling/compare-idle.js';
import { compareStep } from './scaling/compare-step.js';
import { compareTeam } from './scaling/compare-team.js';
import { makeHostRepository } from './scaling/host-repository.js';
import { startHttpHost, startSshHost } from './scaling/hosts.js';
import { load, operationsOf } from './scaling/operations.js';
import { runRedis } from './scaling/redis.js';

const hosts = { 'http-backend': startHttpHost, sshd: startSshHost };

/** One bare repository as the host of many workers. The model that uses the figures is in bench/scaling/simulate.ts. */
export const scaling = {
  name: 'scaling',
  summary: 'what looks, claims, steps and fetches of workers cost the host, by its refs and by clients at once',
  isSlow: true,

  async *compare({ quick, folder: parent }) {
    const { path: root, remove } = temporaryFolder(parent);
    const [sizes, crowds] = quick
      ? [[1000], [1, 4]]
      : [
          [1000, 10_000, 100_000],
          [1, 8, 32],
        ];
    /** @type {{ ended: number, active: number, layout: 'refs' | 'hidden' | 'archived' }[]} */
    const layouts = sizes.map((ended) => ({ ended, active: 1000, layout: 'refs' }));
    if (!quick) {
      layouts.push({ ended: 100_000, active: 1000, layout: 'hidden' });
      layouts.push({ ended: 100_000, active: 1000, layout: 'archived' });
      layouts.push({ ended: 1000, active: 10_000, layout: 'refs' });
    }
    const claims = 100;
    try {
      yield compareRedis(quick ? [1] : [1, 8, 32]);
      yield compareStep(root, { threads: quick ? 2 : 8 });
      yield compareIdle(root, { threads: quick ? 100 : 1000, seconds: quick ? 20 : 100 });
      yield await compareTeam(root, { threads: quick ? 2 : 8, turnSeconds: 1 });
      for (const { ended, active, layout } of layouts) {
        const name = `${layout}-${active}-${ended}.git`;
        const threads = makeHostRepository(join(root, name), { active, claims, ended, layout });
        const operations = operationsOf(threads, claims);
        for (const [server, start] of Object.entries(hosts)) {
          if (layout !== 'refs' && server === 'sshd') continue;
          const host = await start(root, name);
          try {
            for (const clients of crowds) {
              yield {
                what: `${server}, ${ended} ended threads (${layout}), ${active} active, ${clients} clients at once`,
                base: 'a look',
                rounds: 1,
                contestants: contestants(host, operations, clients),
              };
            }
          } finally {
            host.stop();
          }
        }
      }
    } finally {
      remove();
    }
  },
};

function compareRedis(crowds) {
  const run = async (workers, round) => {
    const { waitMs, offered, done, offerCpuMs, doneCpuMs } = await runRedis({
      workers,
      jobs: 3000,
      late: round === 0 ? 1 : 50,
    });
    return {
      tookMs: waitMs,
      'offers a second': offered,
      'done a second': done,
      'offer CPU ms': offerCpuMs,
      'done CPU ms': doneCpuMs,
    };
  };
  return {
    what: 'a queue on Redis: from an offer to its start',
    base: `${crowds[0]} workers`,
    rounds: 1,
    contestants: Object.fromEntries(crowds.map((count) => [`${count} workers`, (round) => run(count, round)])),
  };
}

function contestants(host, operations, clients) {
  const times = Math.max(20, 2 * clients);
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [
      name,
      async (round) => {
        const { waits, hostCpuMs, perSecond, bytesUp, bytesDown } = await load(
          host,
          operation,
          clients,
          round === 0 ? clients : times,
        );
        return {
          tookMs: median(waits),
          'host CPU ms': hostCpuMs,
          'a second': perSecond,
          'bytes up': Math.round(bytesUp),
          'bytes down': Math.round(bytesDown),
        };
      },
    ]),
  );
}
