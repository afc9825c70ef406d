import { randomBytes } from 'node:crypto';
import { describe } from 'vitest';
import { jobIdOf, queueOf } from '../../../src/worker/bullmq/listened-queues.ts';
import { openBullQueue } from '../../../src/worker/bullmq/bull-queue.ts';
import { describeTurnQueue } from '../../contracts/turn-queue.ts';
import { noRedisServer, startRedisServer } from '../../helpers/redis-server.ts';
import { turnJob } from './turn-job.ts';

// `.ci/run` sets it where no server can be had: what cannot be installed there is no fault of the change.
const isLeftOut = process.env['SUITE_WITHOUT_REDIS'] === '1';
if (noRedisServer !== undefined && !isLeftOut) throw new Error(noRedisServer);

describe.skipIf(noRedisServer !== undefined)('a queue on Redis', () => {
  describeTurnQueue('BullMQ', async () => {
    const server = await startRedisServer();
    return {
      makeQueue: () => openBullQueue(server.url, 2_000),
      seedThread: async (needs) => turnJob(needs),
      takeAway: async (job) => {
        const key = `uwf:${queueOf(job.needs).name}:${jobIdOf(job)}:lock`;
        await server.admin.set(key, randomBytes(12).toString('hex'));
      },
      many: 5_000,
      dispose: async () => {},
    };
  });
});
