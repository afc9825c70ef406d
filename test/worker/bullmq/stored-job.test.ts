import { expect, test } from 'vitest';
import { jobIdOf, readStoredJob, storedJob } from '../../../src/worker/bullmq/listened-queues.ts';
import { turnJob } from './turn-job.ts';

test('a job is stored under its thread and head, goes when it ends, and is read as it was', () => {
  const job = { ...turnJob(['docker', 'gpu']), role: 'writer' };
  const { data, opts } = storedJob(job);
  expect(readStoredJob(structuredClone(data))).toEqual(job);
  expect(opts).toEqual({ jobId: `${job.thread}-${job.head}`, removeOnComplete: true, removeOnFail: true });
  // BullMQ reserves it.
  expect(jobIdOf(job)).not.toContain(':');
});

test.each([
  undefined,
  null,
  {},
  { ...turnJob(), thread: '../../x' },
  { ...turnJob(), head: '--upload-pack=x' },
  { ...turnJob(), needs: 'gpu' },
  { ...turnJob(), remote: 1 },
  { ...turnJob(), role: [] },
])('reads no job from %j', (data) => {
  expect(readStoredJob(data)).toBeUndefined();
});
