import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectWhole, Farm, TURNS } from './farm.ts';

const looking = ['--poll', '300ms', '--deadline', '2s'];

test('two workers share the threads of a remote, each turn is taken once, and needs decide who takes it', async () => {
  const farm = new Farm(2, looking);
  const threads = await farm.startThreads(2);
  const workers = [0, 1].map((at) => farm.startWorker(at, '--drain'));
  const ended = await Promise.all(workers.map(({ outcome }) => outcome));
  expect(ended.map(({ code, stderr }) => [code, stderr.replaceAll(/^\S+ \S+.*\n/gm, '')])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  expect(farm.begun()).toHaveLength(threads.length * TURNS);
  await expectWhole(farm, threads);
  const testers = ended.map(({ stderr }) => stderr.includes(' test\n'));
  expect(testers).toEqual([true, false]);
}, 120_000);

test('the work of a worker that is killed, or stopped past its deadline, goes to another', async () => {
  const farm = new Farm(3, looking, 0.4);
  const threads = await farm.startThreads(2);
  farm.startWorker(0);
  farm.startWorker(1);
  while (farm.begun().length < 2) await sleep(20);
  farm.signal(0, 'SIGKILL');
  farm.signal(1, 'SIGSTOP');
  farm.startWorker(2, '--label', 'docker');
  let isStopped = true;
  await farm.untilDone(() => {
    // The third has taken over what the second had claimed.
    if (!isStopped || farm.begun().length < 6) return;
    isStopped = false;
    farm.signal(1, 'SIGCONT');
  });
  farm.signal(1, 'SIGCONT');
  await expectWhole(farm, threads);
  // The two that were cut off were begun again, and none else.
  expect(farm.begun().length - threads.length * TURNS).toBeLessThanOrEqual(4);
}, 120_000);
