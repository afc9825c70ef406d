import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../helpers/temporary-repository.ts';
import { startLoop } from '../thread/thread-fixture.ts';

test('a thousand new threads do not leave a file for each ref', async () => {
  const bare = createTemporaryRepository({ bare: true });
  const there = await bare.open();
  const { head } = await startLoop(there);
  const forks = Array.from({ length: 1_000 }, () => `create refs/threads/${newThreadId(there)} ${head.id}\n`);
  runGit(bare.dir, ['update-ref', '--stdin'], forks.join(''));

  const clone = createTemporaryRepository();
  clone.git('remote', 'add', 'origin', bare.dir);
  const repository = await clone.open();
  const env = isolatedGitEnvironment;
  const remote = await openRemote(repository, 'origin', { env });
  const { threads, refused } = await fetchThreads({ repository }, remote, { env });
  expect([threads.length, refused]).toEqual([1_001, []]);
  expect(readdirSync(join(clone.dir, '.git', 'refs'), { recursive: true }).length).toBeLessThan(20);
  expect(await repository.refs.list('refs/threads/')).toEqual(await there.refs.list('refs/threads/'));
  expect((await fetchThreads({ repository }, remote, { env })).threads).toEqual([]);
  for (const { close } of [repository, there]) await close();
  expectCleanFsck(clone.dir);
}, 180_000);
