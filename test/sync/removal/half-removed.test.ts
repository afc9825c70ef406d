import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRepository } from '../../../src/git/open-repository.ts';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import { removeRemoteThread } from '../../../src/sync/remove-remote-thread.ts';
import { isolatedGitEnvironment as env, runGit } from '../../helpers/temporary-repository.ts';
import { pushThread } from '../../worker/pushed-thread.ts';

/** A thread at a remote, and what removes it there. */
async function createScene() {
  const { host, dir, thread, head } = await pushThread();
  const repository = await openRepository(dir, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: dir, direction: 'push' });
  const remove = (): Promise<unknown> => removeRemoteThread({ repository }, remote, thread);
  const refs = (): string => runGit(host, ['ls-remote', '.']);
  return { host, dir, thread, head, remove, refs };
}

test('a thread stays at a remote that cannot take its mark', async () => {
  const { host, dir, head, remove, refs } = await createScene();
  const other = runGit(dir, ['commit-tree', '-m', 'other', `${head}^{tree}`]).trim();
  runGit(dir, ['push', '-q', 'origin', `${other}:refs/heads/lost`]);
  rmSync(join(host, 'objects', other.slice(0, 2), other.slice(2)));
  const before = refs();
  await expect(remove()).rejects.toMatchObject({ code: 'not-removed-there', kind: 'refused' });
  expect(refs()).toBe(before);
});

test('a thread that goes on while it is removed gets no mark', async () => {
  const { host, dir, thread, head, remove, refs } = await createScene();
  const next = runGit(dir, ['commit-tree', '-p', head, '-m', 'next', `${head}^{tree}`]).trim();
  runGit(dir, ['push', '-q', 'origin', `${next}:refs/heads/next`]);
  const hook = `#!/bin/sh\ngit update-ref refs/threads/${thread} ${next}\n`;
  writeFileSync(join(host, 'hooks/post-receive'), hook, { mode: 0o755 });
  await expect(remove()).rejects.toMatchObject({ code: 'not-removed-there', kind: 'conflict' });
  expect(refs()).toBe(`${next}\trefs/heads/next\n${next}\trefs/threads/${thread}`);
});
