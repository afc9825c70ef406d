import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { orElse } from '../../src/or-else.ts';
import { cloneCliRepository, createLoopRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { startWorker } from '../helpers/worker-process.ts';

test('a worker whose looks fail for two reasons in turn says each once', async () => {
  const server = createTemporaryRepository({ bare: true });
  const { git, json, uwf } = createLoopRepository();
  git('commit', '-q', '--allow-empty', '-m', 'code');
  git('push', '-q', server.dir, 'HEAD:refs/heads/main');
  await json(['thread', 'start', 'loop', '-p', 'x']);
  expect((await uwf(['push', '--all', server.dir])).code).toBe(0);
  const calls = join(createTemporaryFolder(), 'calls');
  const hook = `#!/bin/sh\necho >> '${calls}'\n[ $(($(wc -l < '${calls}') % 2)) = 0 ] && echo even: only branches || echo odd: only branches\nexit 1\n`;
  writeFileSync(join(server.dir, 'hooks/pre-receive'), hook, { mode: 0o755 });
  const { dir } = cloneCliRepository(server.dir);
  const worker = startWorker(dir, ['--poll', '100ms'], { UWF_TRUST: 'all', XDG_CACHE_HOME: createTemporaryFolder() });
  const countCalls = (): number => orElse(() => readFileSync(calls, 'utf8').length, 0);
  await expect.poll(countCalls, { timeout: 30_000 }).toBeGreaterThan(6);
  await worker.stop();
  const words = worker.said().match(/\b(?:even|odd)\b/g) ?? [];
  expect(words.toSorted()).toEqual(['even', 'odd']);
  // What can be done is the same for both.
  expect(worker.said().match(/if the host takes only branches and tags/g)).toHaveLength(1);
});
