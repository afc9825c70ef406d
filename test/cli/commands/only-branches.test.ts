import { dirname, basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { takeOnlyBranches } from '../../git/transport/remote-scene.ts';

const command = 'git config remote.origin.uwfPrefix refs/heads/uwf/';

type Pair = { server: TemporaryRepository; home: CliRepository; away: CliRepository };

const ways = ['a path', 'http'] as const;

/** Two repositories whose remote `origin` is a host that takes only branches and tags. */
async function createPair(way: (typeof ways)[number]): Promise<Pair> {
  const server = createTemporaryRepository({ bare: true });
  takeOnlyBranches(server);
  server.git('config', 'http.receivepack', 'true');
  const url = way === 'http' ? (await startGitHttpServer(dirname(server.dir))).urlOf(basename(server.dir)) : server.dir;
  const [home, away] = [createLoopRepository(), createLoopRepository()];
  for (const { git } of [home, away]) git('remote', 'add', 'origin', url);
  return { server, home, away };
}

function setPrefix(...repositories: CliRepository[]): void {
  for (const { git } of repositories) git(...command.split(' ').slice(1));
}

function refsOf({ git }: Pick<CliRepository, 'git'>, ...under: string[]): string[] {
  return git('for-each-ref', '--format=%(refname)', ...under)
    .split('\n')
    .filter(Boolean);
}

describe.each(ways)('a host that takes only branches and tags, over %s', (way) => {
  test('refuses threads, and the hint names what makes it take them', async () => {
    const { server, home } = await createPair(way);
    const thread = await home.start('loop', 'the task');
    for (const verb of ['push', 'sync']) {
      await home.says(`${verb} --all`, 7, command, 'uwf/**');
    }
    setPrefix(home);
    expect(await home.json(['push', '--all'])).toMatchObject({ threads: [{ thread, change: 'new' }], rejected: [] });
    expect(refsOf(server)).toEqual([`refs/heads/uwf/threads/${thread}`]);
  });

  test('shares threads both ways under the names that they have here', async () => {
    const { server, home, away } = await createPair(way);
    setPrefix(home, away);
    const [thread, other] = [await home.start('loop', 'the task'), await away.start('loop', 'the task')];
    expect((await home.uwf(['push', '--all'])).code).toBe(0);
    expect(await away.json(['sync', '--all'])).toMatchObject({
      fetched: { threads: [{ thread, change: 'new' }], refused: [] },
      pushed: { threads: [{ thread: other, change: 'new' }], rejected: [] },
    });
    expect(refsOf(away, 'refs/threads')).toEqual([thread, other].map((id) => `refs/threads/${id}`).toSorted());
    expect(refsOf(home, 'refs/uwf/remotes')).toEqual([`refs/uwf/remotes/origin/threads/${thread}`]);

    // Ends away: the history ref comes, and the active one goes.
    expect((await away.uwf(['thread', 'run', thread])).code).toBe(0);
    expect((await away.uwf(['push', '--all'])).code).toBe(0);
    expect(refsOf(server, 'refs/heads')).toEqual([
      expect.stringMatching(`^refs/heads/uwf/history/[-0-9]{10}/${thread}$`),
      `refs/heads/uwf/threads/${other}`,
    ]);
    expect(await home.json(['fetch', 'origin', thread])).toMatchObject({ threads: [{ thread, change: 'ended' }] });
    expect(await home.json(['fetch'])).toMatchObject({ threads: [{ thread: other, change: 'new' }] });
    expect(await home.json(['thread', 'list', '--remote', '--all'])).toMatchObject(
      [thread, other]
        .toSorted()
        .toReversed()
        .map((id) => ({ thread: id, here: 'same' })),
    );

    // Removed at home: the mark removes it away.
    expect((await home.uwf(['thread', 'rm', other, '--remote', '--force'])).code).toBe(0);
    expect(refsOf(server, 'refs/heads/uwf/uwf')).toEqual([`refs/heads/uwf/uwf/removed/${other}`]);
    expect(await away.json(['fetch'])).toMatchObject({ threads: [{ thread: other, change: 'removed' }] });
    expect(refsOf(away, 'refs/threads')).toEqual([]);
  });

  test('is told nothing by refs beside the prefix, nor by branches below it that are no shared refs', async () => {
    const { server, home, away } = await createPair(way);
    setPrefix(home, away);
    const thread = await home.start('loop', 'the task');
    expect((await home.uwf(['push', '--all'])).code).toBe(0);
    const head = server.git('rev-parse', `refs/heads/uwf/threads/${thread}`);
    const fake = '01KTWEWZ760000000000000000';
    for (const name of [`threads/${fake}`, 'heads/uwf/heads/main', 'heads/uwf/tags/v1', `heads/uwfx/threads/${fake}`])
      server.git('update-ref', `refs/${name}`, head);
    server.git('update-ref', 'refs/heads/uwf/threads/no-thread', head);
    const { code, stdout } = await away.uwf(['fetch', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ threads: [{ thread }], refused: [{ ref: 'refs/threads/no-thread' }] });
    expect(refsOf(away, 'refs/heads', 'refs/tags', 'refs/threads')).toEqual([`refs/threads/${thread}`]);
  });

  test("init --remote has git's own fetch copy them from below the prefix", async () => {
    const { away } = await createPair(way);
    setPrefix(away);
    const { refspecs } = (await away.json(['init', '--remote', 'origin'])) as { refspecs: string[] };
    expect(refspecs[0]).toBe('+refs/heads/uwf/threads/*:refs/uwf/remotes/origin/threads/*');
    expect(refspecs.at(-1)).toBe('+refs/heads/uwf/uwf/removed/*:refs/uwf/remotes/origin/removed/*');
  });
});

test('a plain git fetch brings threads as branches; a negative refspec keeps them out, and uwf fetch brings them', async () => {
  const { home, away } = await createPair('a path');
  setPrefix(home, away);
  const thread = await home.start('loop', 'the task');
  home.git('commit', '-q', '--allow-empty', '-m', 'code');
  home.git('push', '-q', 'origin', 'HEAD:refs/heads/main');
  expect((await home.uwf(['push', '--all'])).code).toBe(0);
  await home.uwf(['init', '--remote', 'origin']);
  home.git('fetch', '-q', 'origin');
  expect(refsOf(home, 'refs/remotes', 'refs/uwf/remotes')).toEqual([
    'refs/remotes/origin/main',
    `refs/remotes/origin/uwf/threads/${thread}`,
    `refs/uwf/remotes/origin/threads/${thread}`,
  ]);
  away.git('config', '--add', 'remote.origin.fetch', '^refs/heads/uwf/*');
  away.git('fetch', '-q', 'origin');
  expect(refsOf(away, 'refs/remotes')).toEqual(['refs/remotes/origin/main']);
  expect(await away.json(['fetch'])).toMatchObject({ threads: [{ thread }] });
});

test('a prefix that is set later takes effect with the next sync, which sends what went to the old names', async () => {
  const home = createLoopRepository();
  const server = home.share();
  const thread = await home.start('loop', 'the task');
  expect((await home.uwf(['push', '--all'])).code).toBe(0);
  setPrefix(home);
  expect(await home.json(['sync', '--all'])).toMatchObject({
    fetched: { threads: [] },
    pushed: { threads: [{ thread }] },
  });
  expect(refsOf(server)).toEqual([`refs/heads/uwf/threads/${thread}`, `refs/threads/${thread}`]);
});

test('a prefix that is no folder of refs is refused before anything is sent', async () => {
  const { home } = await createPair('a path');
  home.git('config', 'remote.origin.uwfPrefix', 'refs/heads/uwf');
  for (const argv of [
    ['push', '--all'],
    ['fetch'],
    ['sync', '--all'],
    ['thread', 'list', '--remote'],
    ['init', '--remote', 'origin'],
  ]) {
    const { code, stderr } = await home.uwf(argv);
    expect({ argv, code }).toEqual({ argv, code: 2 });
    expect(stderr).toContain(command);
  }
});

test('a remote without a name has no prefix, and the hint says that it needs one', async () => {
  const { server, home } = await createPair('a path');
  setPrefix(home);
  await home.start('loop', 'the task');
  await home.says(`push --all ${server.dir}`, 7, 'git remote add');
});
