import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  cloneCliRepository,
  createCliRepository,
  createLoopRepository,
  loopWorkflow,
  scriptedConfig,
  type CliRepository,
  type Remote,
} from '../../helpers/cli.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
} from '../../helpers/temporary-repository.ts';

type Change = { thread: string; change: string; head: string | null; before: string | null };
type Pushed = { url: string; threads: Change[]; workflows: object[]; rejected: object[]; held: object[] };
type Fetched = { threads: Change[]; workflows: object[]; refused: { ref: string }[]; held: object[] };

/** A repository that runs the loop, and the bare one that is its remote. */
function createHome(): { server: Remote; home: CliRepository } {
  const home = createLoopRepository();
  return { home, server: home.share() };
}

test('a thread is pushed, resumed in a clone by another agent, ended there, and has ended at home', async () => {
  const server = createTemporaryRepository({ bare: true });
  const url = (await startGitHttpServer(join(server.dir, '..'))).urlOf(server.dir.split('/').at(-1) ?? '');
  server.git('config', 'http.receivepack', 'true');
  const home = createCliRepository({
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': 'agents: { me: { package: "builtin:human" } }\ndefaultAgent: me\n',
  });
  home.git('add', '.uwf/workflows');
  home.git('commit', '-qm', 'the workflow');
  // git itself goes by the path: this process serves the URL, and waits for git.
  home.git('push', '-q', server.dir, 'main');
  home.git('remote', 'add', 'origin', url);
  expect((await home.uwf(['run', 'loop', '-p', 'the task'])).code).toBe(4);
  const [{ thread, head }] = (await home.json(['thread', 'list'])) as [{ thread: string; head: string }];
  expect(await home.json(['push', '--all'])).toMatchObject({
    url,
    threads: [{ thread, change: 'new', head, before: null }],
  });

  const clone = cloneCliRepository(server.dir, {
    '.uwf/config.yaml': scriptedConfig({
      writer: ['---\n$status: written\nwords: 3\n---\nA text'],
      checker: ['---\n$status: accepted\n---\nGood'],
    }),
  });
  clone.git('remote', 'set-url', 'origin', url);
  expect(clone.shared()).toBe('');
  const fetched = await clone.uwf(['fetch']);
  expect(fetched).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(` * [new thread]       ${thread}  loop  the task\n`),
  });
  expect(fetched.stderr).toContain(`'uwf thread resume`);
  expect(await clone.uwf(['thread', 'resume', thread, '-p', 'go on'])).toMatchObject({ code: 0 });
  const steps = (await clone.json(['step', 'list', thread])) as { agent: string }[];
  expect(new Set(steps.map(({ agent }) => agent))).toEqual(new Set(['script']));
  const pushed = await clone.uwf(['push', '--all']);
  expect(pushed).toMatchObject({ code: 0, stdout: expect.stringContaining(`pushed to ${url}: 1 thread (1 ended)`) });
  expect(server.git('for-each-ref', '--format=%(refname)', 'refs/threads')).toBe('');

  expect(await home.json(['fetch'])).toMatchObject({ threads: [{ thread, change: 'ended', before: head }] });
  expect(await home.json(['thread', 'show', thread])).toMatchObject({ status: 'ended', steps: 2 });
  expect((await home.uwf(['thread', 'verify', thread])).code).toBe(0);
  expect(home.shared()).toBe(clone.shared());
  expectCleanFsck(home.dir);
});

test('at a terminal a fetch says nothing of what git would advise', async () => {
  const { server, home } = createHome();
  await home.start('loop', 'the task');
  await home.uwf(['push', '--all']);
  const there = cloneCliRepository(server.dir);
  const { all } = await there.uwf(['fetch'], { isTTY: true });
  expect(all).toContain('1 thread (1 new)');
  expect(all).not.toContain('warning: ');
});

test('what git alone pushes and fetches is understood', async () => {
  const { server, home } = createHome();
  const thread = await home.start('loop', 'the task');
  await home.uwf(['thread', 'step', thread]);
  home.git('push', '-q', 'origin', 'refs/threads/*');
  const other = cloneCliRepository(server.dir, {
    '.uwf/config.yaml': scriptedConfig({ checker: ['---\n$status: accepted\n---\nGood'] }),
  });
  other.git('fetch', '-q', 'origin', 'refs/threads/*:refs/threads/*');
  expect(await other.json(['thread', 'show', thread])).toMatchObject({ status: 'idle', steps: 1 });
  expect((await other.uwf(['thread', 'run', thread])).code).toBe(0);
  other.git('push', '-q', 'origin', 'refs/history/*:refs/history/*');
  // git left the active ref at the server; the end is the truth.
  expect(server.git('for-each-ref', '--format=%(refname)').split('\n')).toHaveLength(2);
  expect(await home.json(['sync', '--all'])).toMatchObject({ fetched: { threads: [{ thread, change: 'ended' }] } });
  expect(server.git('for-each-ref', '--format=%(refname)')).toMatch(/^refs\/history\/[\d-]+\/\w{26}$/);
  expect(home.shared()).toBe(other.shared());
});

describe('uwf push', () => {
  test('tells what became visible where, and sends nothing twice', async () => {
    const { server, home } = createHome();
    const [first, second] = [await home.start('loop', 'the task'), await home.start('loop', 'the task')];
    await home.uwf(['workflow', 'add', 'loop']);
    const { code, stdout, stderr } = await home.uwf(['push', '--all', 'origin']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      `pushed to ${server.dir}: 2 threads (2 new), 1 workflow`,
      ` * [new thread]       ${first}  loop  the task`,
      ` * [new thread]       ${second}  loop  the task`,
      ' * [new workflow]     loop',
      'anyone who can read that repository can read them',
      '',
    ]);
    expect(await home.uwf(['push', '--all', 'origin'])).toMatchObject({
      code: 0,
      stdout: `nothing to push to ${server.dir}: it had everything when it was last seen\n`,
      stderr: "hint: 'uwf sync' asks the remote whether it still has it\n",
    });
    server.git('update-ref', '-d', `refs/threads/${first}`);
    expect(await home.uwf(['push', 'origin', first, second])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(` * [new thread]       ${first}`),
      stderr: '',
    });
    expect(server.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads')).toBe(`${first}\n${second}`);
  });

  test('sends the threads that are named and nothing else, with a remote or the default one', async () => {
    const { server, home } = createHome();
    const threads = [
      await home.start('loop', 'the task'),
      await home.start('loop', 'the task'),
      await home.start('loop', 'the task'),
    ] as const;
    await home.uwf(['workflow', 'add', 'loop']);
    expect(await home.uwf(['push', 'origin', threads[0]])).toMatchObject({ code: 0 });
    expect(await home.uwf(['push', threads[1]])).toMatchObject({ code: 0 });
    expect(server.git('for-each-ref', '--format=%(refname:lstrip=2)').split('\n')).toEqual(threads.slice(0, 2));
    expect(await home.uwf(['push', '--thread', threads[2]])).toMatchObject({ code: 0 });
    expect(server.shared()).not.toContain('refs/workflows');
  });

  test('--dry-run sends nothing and remembers nothing', async () => {
    const { server, home } = createHome();
    const thread = await home.start('loop', 'the task');
    const before = home.git('for-each-ref');
    const { code, stdout } = await home.uwf(['push', '--all', '-n']);
    expect({ code, first: stdout.split('\n')[0] }).toEqual({
      code: 0,
      first: `would push to ${server.dir}: 1 thread (1 new)`,
    });
    expect(stdout).toContain(thread);
    expect(server.git('for-each-ref')).toBe('');
    expect(home.git('for-each-ref')).toBe(before);
  });

  test('leaves a thread that others have taken further as it is, says so, and exits with 5', async () => {
    const { server, home } = createHome();
    const thread = await home.start('loop', 'the task');
    await home.uwf(['push', '--all']);
    const other = createLoopRepository();
    other.git('remote', 'add', 'origin', server.dir);
    await other.uwf(['fetch']);
    await other.uwf(['thread', 'step', thread]);
    await other.uwf(['push', '--all']);
    const there = server.shared();
    await home.uwf(['thread', 'step', thread]);
    const refused = await home.uwf(['push', '--all']);
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("'uwf sync'") });
    expect(refused.stdout).toContain(thread);
    expect(server.shared()).toBe(there);

    const synced = (await home.json(['sync', '--all'])) as { fetched: Fetched; pushed: Pushed };
    const fork = synced.fetched.threads.find(({ change }) => change === 'forked');
    expect(fork).toMatchObject({ of: thread });
    expect(synced.pushed.threads).toMatchObject([{ thread: fork?.thread, change: 'new' }]);
    await other.uwf(['fetch']);
    expect(other.shared()).toBe(home.shared());
  });
});

describe('uwf fetch', () => {
  test('refuses what is no thread, brings all else, and exits with 1', async () => {
    const { server, home } = createHome();
    const thread = await home.start('loop', 'the task');
    await home.uwf(['push', '--all']);
    home.git('commit', '--allow-empty', '-qm', 'not a thread');
    home.git('push', '-q', 'origin', 'HEAD:refs/threads/01KTWEWZ760000000000000000', 'HEAD:refs/threads/nonsense');
    const other = cloneCliRepository(server.dir);
    const { code, stdout } = await other.uwf(['fetch']);
    expect(code).toBe(1);
    expect(stdout).toContain(` * [new thread]       ${thread}  loop  the task\n`);
    expect(stdout).toMatch(/^ ! \[refused\] {10}refs\/threads\/01KTWEWZ760000000000000000 {2}\(.+\)$/m);
    expect(stdout).toMatch(/^ ! \[refused\] {10}refs\/threads\/nonsense {2}\(.+\)$/m);
    expect(other.shared()).toBe(home.shared());
    expect(((await other.lines(['fetch']))[0] as Fetched | undefined)?.refused).toHaveLength(2);
  });

  test('brings what was started since a time, or is named', async () => {
    const { server, home } = createHome();
    const threads = [await home.start('loop', 'the task'), await home.start('loop', 'the task')] as const;
    await home.uwf(['push', '--all']);
    const other = cloneCliRepository(server.dir);
    const later = (): number => Date.now() + 86_400_000;
    expect(await other.json(['fetch', '--since', '1h'], { now: later })).toMatchObject({ threads: [] });
    expect(await other.json(['fetch', threads[1]])).toMatchObject({ threads: [{ thread: threads[1], change: 'new' }] });
    expect(await other.json(['fetch', '--since', '2d'], { now: later })).toMatchObject({
      threads: [{ thread: threads[0], change: 'new' }],
    });
  });

  test('takes a file that a push wrote', async () => {
    const { home } = createHome();
    const thread = await home.start('loop', 'the task');
    const file = join(createTemporaryFolder(), 'threads.bundle');
    expect(await home.uwf(['push', '--all', file])).toMatchObject({ code: 0 });
    const other = createCliRepository();
    expect(other.git('bundle', 'verify', '-q', file)).toBe('');
    expect(await other.json(['fetch', file])).toMatchObject({ threads: [{ thread, change: 'new' }] });
    expect(other.shared()).toBe(home.shared());
  });

  test('shows on a terminal how far it is, takes that away in the end, and is quiet in a pipe', async () => {
    const { server, home } = createHome();
    await home.start('loop', 'the task');
    await home.uwf(['push', '--all']);
    // No clones: between folders of one machine git copies all objects, and there is nothing left to bring.
    const [one, two] = [createCliRepository({}), createCliRepository({})];
    for (const { git } of [one, two]) git('remote', 'add', 'origin', server.dir);
    const onTerminal = await one.uwf(['fetch'], { isTTY: true });
    expect(onTerminal.stderr).toContain('remote: Enumerating objects');
    expect(onTerminal.stderr).toContain('\r\u001B[K');
    expect(onTerminal.stdout).toContain('fetched from');
    expect((await two.uwf(['fetch'])).stderr).toMatch(/^hint: [^\n]+\n$/);
  });
});

describe('a removed thread', () => {
  test('is not brought back by a fetch until it is named', async () => {
    const { home } = createHome();
    const thread = await home.start('loop', 'the task');
    await home.uwf(['push', '--all']);
    const removed = await home.uwf(['thread', 'rm', thread, '--force']);
    expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining(`'uwf fetch origin ${thread}'`) });
    expect(await home.json(['fetch'])).toMatchObject({ threads: [] });
    expect(await home.json(['sync', '--all'])).toMatchObject({ fetched: { threads: [] }, pushed: { threads: [] } });
    expect(await home.json(['fetch', 'origin', thread])).toMatchObject({ threads: [{ thread, change: 'new' }] });
    expect(await home.json(['thread', 'show', thread])).toMatchObject({ thread });
  });

  test('with --remote is removed there, and elsewhere by the next sync', async () => {
    const { server, home } = createHome();
    const [kept, thread] = [await home.start('loop', 'the task'), await home.start('loop', 'the task')];
    await home.uwf(['push', '--all']);
    const other = cloneCliRepository(server.dir);
    await other.uwf(['fetch']);
    const removed = await home.uwf(['thread', 'rm', thread, '--force', '--remote']);
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining(server.dir) });
    expect(server.git('for-each-ref', '--format=%(refname)', 'refs/threads')).toBe(`refs/threads/${kept}`);
    expect(await other.json(['sync', '--all'])).toMatchObject({
      fetched: { threads: [{ thread, change: 'removed' }] },
    });
    expect(other.shared()).toBe(home.shared());
  });

  test('that only the remote has, or that the remote has not, is removed where it is', async () => {
    const { server, home } = createHome();
    const [shared1, own] = [await home.start('loop', 'the task'), await home.start('loop', 'the task')];
    await home.uwf(['push', 'origin', shared1]);
    expect(await home.json(['thread', 'rm', own, '--force', '--remote'])).toMatchObject({ thread: own, remote: null });
    await home.says(`thread rm ${shared1} --remote`, 2, 'it is not over');
    const other = createCliRepository();
    const dry = ['thread', 'rm', shared1.toLowerCase(), `--remote=${server.dir}`, '-n'];
    expect(await other.uwf(dry)).toMatchObject({ code: 0, stdout: expect.stringContaining('would remove') });
    expect(server.shared()).toContain(shared1);
    expect(await other.json(dry.slice(0, -1))).toEqual({
      thread: shared1,
      head: null,
      unmerged: null,
      remote: server.dir,
    });
    expect(server.shared()).toBe('');
    expect(await other.uwf(['thread', 'rm', '--ended', '--before', '1d', '--remote'])).toMatchObject({ code: 2 });
  });

  test('stays where it is when the remote cannot be reached', async () => {
    const { home } = createHome();
    const thread = await home.start('loop', 'the task');
    home.git('remote', 'set-url', 'origin', '/no/such/folder');
    const before = home.git('for-each-ref');
    expect((await home.uwf(['thread', 'rm', thread, '--force', '--remote=origin'])).code).toBe(1);
    expect(home.git('for-each-ref')).toBe(before);
  });
});

describe('uwf thread list --remote', () => {
  test('tells by one advertisement what a remote has, newest first, and brings nothing', async () => {
    const { server, home } = createHome();
    const [ended, active] = [await home.start('loop', 'the task'), await home.start('loop', 'the task')];
    await home.uwf(['thread', 'cancel', ended]);
    await home.uwf(['push', '--all']);
    const other = cloneCliRepository(server.dir);
    expect(await other.json(['thread', 'list', '--remote', '--all'])).toEqual([
      expect.objectContaining({ thread: active, endedOn: null, here: 'none' }),
      expect.objectContaining({ thread: ended, endedOn: new Date().toISOString().slice(0, 10), here: 'none' }),
    ]);
    expect(other.git('for-each-ref', 'refs/threads', 'refs/history', 'refs/uwf')).toBe('');
    await home.uwf(['thread', 'step', active]);
    expect(await home.json(['thread', 'list', '--remote=origin'])).toMatchObject([{ thread: active, here: 'other' }]);
    expect(await home.json(['thread', 'list', '--remote=origin', '--ended'])).toMatchObject([
      { thread: ended, here: 'same' },
    ]);
    expect((await home.uwf(['thread', 'list', '--remote', '--all', '-n', '1'])).stdout).toMatch(
      new RegExp(
        `^THREAD +STATUS +HEAD +STARTED +HERE\n${active} +active +[0-9a-f]{7} +just now +at another commit\n$`,
      ),
    );
  });

  test('and a fetch go by the day of the end', async () => {
    const { server, home } = createHome();
    const [ended, active] = [await home.start('loop', 'the task'), await home.start('loop', 'the task')];
    await home.uwf(['thread', 'cancel', ended]);
    await home.uwf(['push', '--all']);
    const listed = async ({ json }: CliRepository, ...argv: string[]): Promise<string[]> =>
      ((await json(['thread', 'list', ...argv])) as Change[]).map(({ thread }) => thread);
    const other = cloneCliRepository(server.dir);
    expect(await other.json(['fetch', '--ended-until', '2d'])).toMatchObject({ threads: [] });
    expect(await listed(other, '--remote', '--ended-until', '2d')).toEqual([]);
    expect(await listed(other, '--remote', '--ended-since', '2d')).toEqual([ended]);
    expect(await other.json(['fetch', '--ended-since', '2d'])).toMatchObject({ threads: [{ thread: ended }] });
    expect(await listed(other, '--all')).toEqual([ended]);
    expect(await listed(home, '--ended-since', '1h')).toEqual([ended]);
    expect(await listed(home, '--ended-until', '1h')).toEqual([]);
    expect(await listed(home, '--ended-until', '2100-01-01', '--before', '1h')).toEqual([]);
    expect(await listed(home, '--ended-until', '2100-01-01')).toEqual([ended]);
    expect(await listed(home)).toEqual([active]);
  });

  test('refuses what names cannot tell', async () => {
    const { home } = createHome();
    await home.says('thread list --remote --status failed', 2, '--status and --remote cannot be given together');
    await home.says('thread list --remote origin', 2, 'did you mean --remote=origin?');
  });
});

describe('what goes wrong', () => {
  test.each(['push', 'fetch', 'sync'])('uwf %s says which remote there is not', async (verb) => {
    const { uwf, says, git, json } = createLoopRepository();
    await json(['thread', 'start', 'loop', '-p', 'the task']);
    expect(await uwf([verb])).toMatchObject({ code: 2, stderr: expect.stringContaining('git remote add') });
    git('remote', 'add', 'origin', '/no/such/folder');
    await says(`${verb} orign`, 2, /there is no remote 'orign'\nhint: .*origin/);
    const { code, stdout, stderr } = await uwf([verb, 'origin']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    // In git's own words.
    expect(stderr).toContain("'/no/such/folder' does not appear to be a git repository");
  });

  test('a thread that is nowhere is named', async () => {
    const { home } = createHome();
    for (const verb of ['push', 'fetch', 'sync']) {
      const { code, stderr } = await home.uwf([verb, 'origin', '01KTWEWZ760000000000000000']);
      expect({ verb, code }).toEqual({ verb, code: 2 });
      expect(stderr).toContain('01KTWEWZ760000000000000000');
    }
  });

  test('a password that is wrong is told in the words of git, without the password', async () => {
    const { server, home } = createHome();
    const http = await startGitHttpServer(join(server.dir, '..'));
    http.requireCredentials({ user: 'ada', password: 'right' });
    const url = http.urlOf(server.dir.split('/').at(-1) ?? '').replace('//', '//ada:wrong@');
    const { code, stderr } = await home.uwf(['fetch', url]);
    expect(code).toBe(1);
    expect(stderr).toContain('Authentication failed');
    expect(stderr).not.toContain('wrong');
  });

  test('one that is interrupted leaves nothing behind', async () => {
    const { server, home } = createHome();
    await home.start('loop', 'the task');
    await home.uwf(['push', '--all']);
    const other = cloneCliRepository(server.dir);
    const { CommandStopped } = await import('../../../src/cli/process/cli-environment.ts');
    const signal = AbortSignal.abort(new CommandStopped('SIGINT'));
    expect((await other.uwf(['fetch'], { signal })).code).toBe(130);
    expect(other.git('for-each-ref', 'refs/threads', 'refs/uwf')).toBe('');
    const left = join(other.dir, '.git/uwf/incoming');
    expect(existsSync(left) ? readdirSync(left) : []).toEqual([]);
    expect((await other.uwf(['fetch'])).code).toBe(0);
  });
});
