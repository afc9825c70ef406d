import { expect, onTestFinished, test } from 'vitest';
import { openBullQueue } from '../../../src/worker/bullmq/bull-queue.ts';
import { startRedisServer } from '../../helpers/redis-server.ts';
import { expectWhole, Farm, TURNS } from '../farm.ts';
import { turnJob } from './turn-job.ts';

const isLeftOut = process.env['SUITE_WITHOUT_REDIS'] === '1';

test.skipIf(isLeftOut)(
  'a worker tells once of jobs of another remote in its queue, and does its own',
  async () => {
    const { url } = await startRedisServer();
    const queue = await openBullQueue(url, 30_000);
    onTestFinished(() => queue.close());
    const foreign = [turnJob(), turnJob(), turnJob()];
    await queue.offer(foreign);
    const farm = new Farm(1, ['--poll', '300ms', '--queue', url]);
    const threads = await farm.startThreads(1);
    const { outcome } = farm.startWorker(0, '--label', 'docker', '--drain');
    const { code, stderr } = await outcome;
    expect(code).toBe(0);
    const lines = stderr.split('\n').filter((line) => line.includes("'?prefix='"));
    expect(lines).toHaveLength(1);
    expect(foreign.some(({ thread }) => lines[0]?.includes(thread))).toBe(true);
    expect(farm.begun()).toHaveLength(TURNS);
    await expectWhole(farm, threads);
  },
  60_000,
);
