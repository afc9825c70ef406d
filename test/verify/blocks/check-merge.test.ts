import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planRedaction } from '../../../src/engine/redact/redact-thread.ts';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import { getThread } from '../../../src/thread/find/find-thread.ts';
import { fsck } from '../../../src/verify/fsck.ts';
import { runCommand } from '../../helpers/cli.ts';
import { runGit } from '../../helpers/temporary-repository.ts';
import { runMerge, SECRET } from './merge-fixture.ts';

test.each([
  { keys: ['b', 'a'], status: 'joined' },
  { keys: ['a', 'b', 'c'], status: 'conflict' },
])('a block that merged $keys verifies, and is pushed without code that the remote lacks', async ({ keys, status }) => {
  const { thread, engine, repository, git, dir } = await runMerge(keys);
  const { head } = await engine.describe(thread);
  expect(git('log', '--first-parent', '--format=%s', head)).toContain(`work: work: ${status}`);
  for await (const { findings } of fsck({ repository })) expect(findings).toEqual([]);
  const hub = join(dir, 'hub.git');
  runGit(dir, ['init', '-q', '--bare', hub]);
  git('push', '-q', hub, 'HEAD:refs/heads/main');
  const pushed = await runCommand(['push', hub, thread, '--allow-secrets'], { cwd: dir });
  expect(pushed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('held') });
  const there = join(dir, 'there');
  runGit(dir, ['clone', '-q', hub, there]);
  expect(await runCommand(['fetch', hub, thread], { cwd: there })).toMatchObject({ code: 0 });
  expect(await runCommand(['thread', 'verify', thread], { cwd: there })).toMatchObject({ code: 0 });
});

test('a secret in the files that branches begin with is taken out of their files, their bases and their merge', async () => {
  const { thread, repository, git } = await runMerge(['a', 'b']);
  const rules = [{ name: 'acme-token', pattern: 'acme_[a-z0-9]{32}' }];
  const redactor = createRedactor({ key: new Uint8Array(32), known: [], rules });
  const commitsWithIt = async (): Promise<string> => {
    const { head } = await getThread(repository, thread);
    return git('log', '-p', '--root', '-m', '--text', '-S', SECRET, '--format=%H', head);
  };
  expect(await commitsWithIt()).not.toBe('');
  const { apply } = await planRedaction(repository, redactor, thread);
  await apply();
  for await (const { findings } of fsck({ repository })) expect(findings).toEqual([]);
  expect(await commitsWithIt()).toBe('');
});
