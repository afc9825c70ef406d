import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cloneCliRepository, createLoopRepository } from '../../helpers/cli.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';

const hooks = {
  'pre-receive': 'echo "no threads here"; exit 1',
  update: 'case $1 in refs/threads/*) echo "no threads here"; exit 1;; esac',
};

test.each(Object.keys(hooks) as (keyof typeof hooks)[])('what a %s hook refuses is no race: 7, not 5', async (name) => {
  const server = createTemporaryRepository({ bare: true });
  const { uwf, json, git } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  expect((await uwf(['push', '--all'])).code).toBe(0);
  await uwf(['thread', 'step', thread]);
  const hook = join(server.dir, 'hooks', name);
  writeFileSync(hook, `#!/bin/sh\n${hooks[name]}\n`);
  chmodSync(hook, 0o755);
  for (const command of ['push', 'sync']) {
    const { code, stdout } = await uwf([command]);
    expect({ command, code, stdout }).toMatchObject({ code: 7, stdout: expect.stringContaining('[rejected]') });
  }
  const removing = await uwf(['thread', 'rm', thread, '--remote', '--force']);
  expect(removing.code, removing.stderr).toBe(7);
});

test('what others have pushed meanwhile is a race: 5', async () => {
  const server = createTemporaryRepository({ bare: true });
  const { uwf, json, git } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  await uwf(['push', '--all']);
  const start = git('rev-parse', `refs/threads/${thread}`);
  await uwf(['thread', 'step', thread]);
  await uwf(['push', '--all']);
  git('update-ref', `refs/threads/${thread}`, start);
  await uwf(['thread', 'step', thread]);
  expect((await uwf(['push', '--all'])).code).toBe(5);
  expect((await uwf(['sync', '--all'])).code).toBe(0);
});

test('a push from a shallow clone that the remote refuses says how to get what was cut off', async () => {
  const home = createLoopRepository();
  for (const message of ['one', 'two']) {
    writeFileSync(join(home.dir, 'file.txt'), message);
    home.git('add', '.');
    home.git('commit', '-qm', message);
  }
  const shallow = cloneCliRepository(`file://${home.dir}`, {}, ['--depth', '1']);
  const empty = createTemporaryRepository({ bare: true });
  const { thread } = (await shallow.json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  expect(thread).toBeTruthy();
  writeFileSync(join(shallow.dir, '.git/uwf/config.yaml'), 'snapshot: { mode: on }\n');
  await shallow.uwf(['thread', 'step', thread]);
  const { code, stderr } = await shallow.uwf(['push', '--all', empty.dir, '--with-commits']);
  expect({ code, stderr }).toMatchObject({ code: 7, stderr: expect.stringContaining('git fetch --unshallow') });
});

test('the end of a thread is published beside its active ref where the remote lets nothing be deleted', async () => {
  const server = createTemporaryRepository({ bare: true });
  server.git('config', 'receive.denyDeletes', 'true');
  const { uwf, json, git } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  // git lets what is no branch be deleted.
  git('config', 'remote.origin.uwfPrefix', 'refs/heads/uwf/');
  git('commit', '-q', '--allow-empty', '-m', 'code');
  git('push', '-q', 'origin', 'HEAD:refs/heads/main');
  const start = async (): Promise<string> =>
    ((await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string }).thread;
  const [first, second, third] = [await start(), await start(), await start()];
  expect((await uwf(['push', '--all'])).code).toBe(0);
  const clone = cloneCliRepository(server.dir);
  clone.git('config', 'remote.origin.uwfPrefix', 'refs/heads/uwf/');
  expect((await clone.uwf(['fetch'])).code).toBe(0);
  await uwf(['thread', 'cancel', first]);
  await uwf(['thread', 'cancel', second]);
  const pushed = await uwf(['push', '--all']);
  expect(pushed).toMatchObject({ code: 0, stderr: '' });
  expect(pushed.stdout).toContain('2 threads (2 ended)');
  const history = server.git('for-each-ref', '--format=%(refname)', 'refs/heads/uwf/history').split('\n');
  expect(history.map((name) => name.split('/').at(-1))).toEqual([first, second].toSorted());
  // What may not be deleted is in the way of nothing else.
  await uwf(['thread', 'cancel', third]);
  expect((await uwf(['push', '--all'])).stdout).toContain('1 thread (1 ended)');
  expect(await uwf(['push', '--all'])).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to push') });
  expect((await clone.uwf(['sync', '--all'])).code).toBe(0);
  expect(clone.git('for-each-ref', 'refs/threads')).toBe('');
  expect(clone.git('for-each-ref', '--format=x', 'refs/history')).toBe('x\nx\nx');
});

test('a remote that cannot store what is sent needs no other names of refs', async () => {
  const server = createTemporaryRepository({ bare: true });
  const { uwf, json, git } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  await json(['thread', 'start', 'loop', '-p', 'x']);
  server.git('config', 'receive.maxInputSize', '1');
  const { code, stdout, stderr } = await uwf(['push', '--all']);
  expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringContaining('unpacker error') });
  expect(stderr).not.toContain('uwfPrefix');
});

describe('a disk that is full', () => {
  const words = 'fatal: unable to write loose object file: No space left on device';

  test('at the remote is no refusal for good: a push may succeed later', async () => {
    const server = createTemporaryRepository({ bare: true });
    const { uwf, json, git } = createLoopRepository();
    git('remote', 'add', 'origin', server.dir);
    await json(['thread', 'start', 'loop', '-p', 'x']);
    const hook = join(server.dir, 'hooks/pre-receive');
    writeFileSync(hook, `#!/bin/sh\necho '${words}' >&2\nexit 1\n`, { mode: 0o755 });
    const { code, stderr } = await uwf(['push', '--all']);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `uwf: the disk of origin is full: ${words}\nhint: free some space there and repeat; nothing was changed here\n`,
    );
    rmSync(hook);
    expect((await uwf(['push', '--all'])).code).toBe(0);
  });

  test('of this machine is named where a fetch cannot write', async () => {
    const { uwf, git } = createLoopRepository();
    // What git says here about its own disk.
    git('config', 'core.sshCommand', 'echo "fatal: write error. Out of diskspace" >&2; false');
    const { code, stderr } = await uwf(['fetch', 'ssh://host/repository']);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('no space left to write') });
    expect(stderr).toContain('hint: free some space and repeat');
  });
});

test('a push from under which objects are collected says that another one helps', async () => {
  const server = createTemporaryRepository({ bare: true });
  const { uwf, json, git } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  for (const prompt of ['x', 'y']) await json(['thread', 'start', 'loop', '-p', prompt]);
  // It runs for the first of two refs, when the objects of both are there.
  const hook = join(server.dir, 'hooks/update');
  writeFileSync(hook, '#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit gc --quiet --prune=now\n', { mode: 0o755 });
  const refused = await uwf(['push', '--all']);
  expect(refused).toMatchObject({ code: 7, stdout: expect.stringContaining('(bad pack)') });
  expect(refused.stderr).toContain('push again');
  expect(refused.stderr).not.toContain('branches and tags');
  rmSync(hook);
  expect((await uwf(['push', '--all'])).code).toBe(0);
});

test('a thread of which the remote has lost an earlier commit is sent whole once its refs there are deleted', async () => {
  const server = createTemporaryRepository({ bare: true });
  const { git, json, uwf } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  await uwf(['thread', 'step', thread]);
  const { thread: fork } = (await json(['thread', 'fork', thread])) as { thread: string };
  server.git('config', 'receive.unpackLimit', '10000');
  expect((await uwf(['push', '--all'])).code).toBe(0);
  const start = git('rev-parse', `refs/threads/${thread}~1`);
  rmSync(join(server.dir, 'objects', start.slice(0, 2), start.slice(2)));
  // Its refs are what they were.
  expect((await uwf(['sync', '--all'])).stdout).toContain('nothing to push');
  expect(() => server.git('fsck')).toThrow('exited with');
  git('push', '-q', 'origin', `:refs/threads/${thread}`, `:refs/threads/${fork}`);
  expect((await uwf(['sync', '--all'])).code).toBe(0);
  expectCleanFsck(server.dir);
  expect((await json(['thread', 'list', '--remote'])) as object[]).toHaveLength(2);
});

test('a thread that the remote has lost is told of by a fetch, and comes back with a push', async () => {
  const server = createTemporaryRepository({ bare: true });
  const { uwf, json, git } = createLoopRepository();
  git('remote', 'add', 'origin', server.dir);
  const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  expect((await uwf(['push', '--all'])).code).toBe(0);
  server.git('update-ref', '-d', `refs/threads/${thread}`);
  const { code, stdout, stderr } = await uwf(['fetch']);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(`\\[gone there\\] +${thread} `) });
  const [, hint = ''] = /hint: 'uwf (push origin \S+)'/.exec(stderr) ?? [];
  expect((await uwf(hint.split(' '))).stdout).toContain(`[new thread]       ${thread}`);
  expect(server.git('for-each-ref', '--format=%(refname)')).toBe(`refs/threads/${thread}`);
});
