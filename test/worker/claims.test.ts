import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRepository } from '../../src/git/open-repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { Claims } from '../../src/worker/claims.ts';
import { isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { pushThread } from './pushed-thread.ts';

test('a claim whose removal the remote refused is removed with the next renewal', async () => {
  const { host, dir, thread, head } = await pushThread();
  const env = isolatedGitEnvironment;
  const repository = await openRepository(dir, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: dir, direction: 'push', mayAsk: false });
  const session = '0123456789abcdef';
  const claims = new Claims(repository, remote, { worker: 'w', host: 'h', session, deadlineMs: 2_000 });
  const there = (): string[] =>
    runGit(host, ['for-each-ref', '--format=%(refname)', 'refs/uwf/claims']).split('\n').filter(Boolean);

  expect(await claims.take([{ thread, head, losses: 0, replaces: null, lost: () => {} }])).toEqual([thread]);
  const hook = join(host, 'hooks', 'pre-receive');
  writeFileSync(hook, '#!/bin/sh\necho not now >&2; exit 1\n');
  chmodSync(hook, 0o755);
  await claims.release([thread]);
  expect(there()).toEqual([`refs/uwf/claims/${thread}`]);

  rmSync(hook);
  await claims.renew();
  expect(there()).toEqual([]);
  expect(claims.threads).toEqual([]);
  await repository.close();
});
