import { expect, test } from 'vitest';
import { createLoopRepository, type CliRepository, type Remote } from '../../helpers/cli.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';

/** A person whose remote has a thread already. */
async function createHome(): Promise<{ home: CliRepository; server: Remote; thread: string }> {
  const home = createLoopRepository();
  const server = home.share();
  const thread = await home.start();
  await home.says('push --all', 0);
  return { home, server, thread };
}

test.each([
  ['pre-receive', 'echo "no threads here"; exit 1'],
  ['update', 'case $1 in refs/threads/*) echo "no threads here"; exit 1;; esac'],
])('what a %s hook refuses is no race: 7, not 5', async (name, script) => {
  const { home, server, thread } = await createHome();
  await home.says(`thread step ${thread}`, 0);
  server.hook(name, script);
  for (const command of ['push', 'sync']) await home.says(command, 7, '[rejected]');
  await home.says(`thread rm ${thread} --remote --force`, 7);
});

test('what others have pushed meanwhile is a race: 5', async () => {
  const { home, thread } = await createHome();
  const start = home.git('rev-parse', `refs/threads/${thread}`);
  await home.says(`thread step ${thread}`, 0);
  await home.says('push --all', 0);
  home.git('update-ref', `refs/threads/${thread}`, start);
  await home.says(`thread step ${thread}`, 0);
  await home.says('push --all', 5);
  await home.says('sync --all', 0);
});

test('a push from a shallow clone that the remote refuses says how to get what was cut off', async () => {
  const home = createLoopRepository();
  for (const message of ['one', 'two']) home.git('commit', '-q', '--allow-empty', '-m', message);
  const server = home.share();
  home.git('push', '-q', 'origin', 'HEAD:main');
  const shallow = server.clone(undefined, '--depth', '1', '--no-local');
  shallow.write('.git/uwf/config.yaml', 'snapshot: { mode: on }\n');
  await shallow.says(`thread step ${await shallow.start()}`, 0);
  await shallow.says(
    `push --all ${createTemporaryRepository({ bare: true }).dir} --with-commits`,
    7,
    'git fetch --unshallow',
  );
});

test('the end of a thread is published beside its active ref where the remote lets nothing be deleted', async () => {
  const home = createLoopRepository();
  const server = home.share();
  server.git('config', 'receive.denyDeletes', 'true');
  // git lets what is no branch be deleted.
  home.git('config', 'remote.origin.uwfPrefix', 'refs/heads/uwf/');
  home.git('commit', '-q', '--allow-empty', '-m', 'code');
  home.git('push', '-q', 'origin', 'HEAD:refs/heads/main');
  const [first, second, third] = [await home.start(), await home.start(), await home.start()];
  await home.says('push --all', 0);
  const clone = server.clone();
  clone.git('config', 'remote.origin.uwfPrefix', 'refs/heads/uwf/');
  await clone.says('fetch', 0);
  for (const thread of [first, second]) await home.says(`thread cancel ${thread}`, 0);
  expect((await home.says('push --all', 0, '2 threads (2 ended)')).stderr).toBe('');
  const history = server.refs('refs/heads/uwf/history').map((name) => name.split('/').at(-1));
  expect(history).toEqual([first, second].toSorted());
  // What may not be deleted is in the way of nothing else.
  await home.says(`thread cancel ${third}`, 0);
  await home.says('push --all', 0, '1 thread (1 ended)');
  await home.says('push --all', 0, 'nothing to push');
  await clone.says('sync --all', 0);
  expect(clone.shared().match(/refs\/\w+/g)).toEqual(['refs/history', 'refs/history', 'refs/history']);
});

const full = 'fatal: unable to write loose object file: No space left on device';

test.each<[string, (server: Remote) => (() => void) | void, number, (string | RegExp)[]]>([
  [
    'a remote that cannot store what is sent needs no other names of refs',
    (server) => void server.git('config', 'receive.maxInputSize', '1'),
    7,
    ['unpacker error', /^(?![^]*uwfPrefix)/],
  ],
  [
    'a full disk at the remote is no refusal for good: a push may succeed later',
    (server) => server.hook('pre-receive', `echo '${full}' >&2\nexit 1`),
    1,
    [`uwf: the disk of origin is full: ${full}\nhint: free some space there and repeat; nothing was changed here\n`],
  ],
  [
    'a push from under which objects are collected says that another one helps',
    // It runs for the first of two refs, when the objects of both are there.
    (server) => server.hook('update', 'unset GIT_QUARANTINE_PATH\ngit gc --quiet --prune=now'),
    7,
    ['(bad pack)', 'push again', /^(?![^]*branches and tags)/],
  ],
])('%s', async (_, hinder, code, texts) => {
  const home = createLoopRepository();
  const server = home.share();
  for (const prompt of ['x', 'y']) await home.start('loop', prompt);
  const help = hinder(server);
  await home.says('push --all', code, ...texts);
  if (!help) return;
  help();
  await home.says('push --all', 0);
});

test('a full disk of this machine is named where a fetch cannot write', async () => {
  const home = createLoopRepository();
  // What git says here about its own disk.
  home.git('config', 'core.sshCommand', 'echo "fatal: write error. Out of diskspace" >&2; false');
  await home.says('fetch ssh://host/repository', 1, 'no space left to write', 'hint: free some space and repeat');
});

test('a thread of which the remote has lost an earlier commit is sent whole once its refs there are deleted', async () => {
  const home = createLoopRepository();
  const server = home.share();
  server.git('config', 'receive.unpackLimit', '10000');
  const thread = await home.start();
  await home.says(`thread step ${thread}`, 0);
  const { thread: fork } = (await home.json(['thread', 'fork', thread])) as { thread: string };
  await home.says('push --all', 0);
  server.lose(home.git('rev-parse', `refs/threads/${thread}~1`));
  // Its refs are what they were.
  await home.says('sync --all', 0, 'nothing to push');
  expect(() => server.git('fsck')).toThrow('exited with');
  home.git('push', '-q', 'origin', `:refs/threads/${thread}`, `:refs/threads/${fork}`);
  await home.says('sync --all', 0);
  expectCleanFsck(server.dir);
  expect((await home.json(['thread', 'list', '--remote'])) as object[]).toHaveLength(2);
});

test('a thread that the remote has lost is told of by a fetch, and comes back with a push', async () => {
  const { home, server, thread } = await createHome();
  server.git('update-ref', '-d', `refs/threads/${thread}`);
  const { stderr } = await home.says('fetch', 0, new RegExp(`\\[gone there\\] +${thread} `));
  const [, hint = ''] = /hint: 'uwf (push origin \S+)'/.exec(stderr) ?? [];
  await home.says(hint, 0, `[new thread]       ${thread}`);
  expect(server.refs()).toEqual([`refs/threads/${thread}`]);
});
