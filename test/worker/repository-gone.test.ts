import { existsSync, renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cloneCliRepository, createLoopRepository } from '../helpers/cli.ts';
import { createTemporaryFolder } from '../helpers/temporary-repository.ts';
import { startWorker } from '../helpers/worker-process.ts';

test('a worker whose clone is moved away says so, makes nothing in its place, and goes on when it is back', async () => {
  const { dir: remote, git } = createLoopRepository();
  git('commit', '-q', '--allow-empty', '-m', 'code');
  const { dir } = cloneCliRepository(remote);
  const looks = ['--poll', '2s', '--log', 'json', '--health', '0'];
  const worker = startWorker(dir, looks, { UWF_TRUST: 'all', XDG_CACHE_HOME: createTemporaryFolder() });
  const health = async (): Promise<string> => {
    const [, url] = /"health":"([^"]+)"/.exec(worker.said()) ?? [];
    return url === undefined ? '' : (await fetch(`${url}/metrics`)).text();
  };
  // It rests between two looks: one that is under way would make the folder of its quarantine.
  await expect.poll(health, { timeout: 20_000 }).toMatch(/^uwf_worker_look_seconds_count [1-9]/mu);
  renameSync(dir, `${dir}-moved`);
  await expect.poll(() => worker.said(), { timeout: 15_000 }).toContain('is there no more');
  expect(existsSync(dir)).toBe(false);
  renameSync(`${dir}-moved`, dir);
  expect(await worker.stop()).toBe(0);
});
