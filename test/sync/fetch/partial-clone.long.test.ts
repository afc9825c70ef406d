import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import { fetchThreads } from '../../../src/sync/fetch/fetch-threads.ts';
import type { FetchReport } from '../../../src/sync/report.ts';
import { cloneCliRepository, createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { startGitHttpServer, type GitHttpServer } from '../../helpers/git-http-server.ts';
import {
  createTemporaryFolder,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../../helpers/temporary-repository.ts';

type Scene = { author: CliRepository; server: GitHttpServer; reader: CliRepository; thread: string };

/** A thread of four steps in a repository that a server has, and a clone of that without its threads. */
async function createScene(): Promise<Scene> {
  const root = createTemporaryFolder();
  const shared = join(root, 'shared.git');
  const author = createLoopRepository();
  author.git('add', '.');
  author.git('commit', '--quiet', '-m', 'code');
  runGit(root, ['init', '--quiet', '--bare', '--initial-branch=main', 'shared.git']);
  for (const name of ['uploadpack.allowFilter', 'http.receivepack']) runGit(shared, ['config', name, 'true']);
  const events = await author.lines(['run', 'loop', '-p', 'Write something']);
  author.git('remote', 'add', 'origin', shared);
  author.git('push', '--quiet', 'origin', 'main', 'refs/history/*');
  const server = await startGitHttpServer(root);
  // Not over HTTP: git is waited for in this process, which is the server's too.
  const reader = cloneCliRepository(`file://${shared}`);
  reader.git('remote', 'set-url', 'origin', server.urlOf('shared.git'));
  return { author, server, reader, thread: String(events.at(-1)?.['thread']) };
}

async function fetchInto(reader: CliRepository, name: string, spine: boolean): Promise<FetchReport> {
  const repository = await reader.open({ env: isolatedGitEnvironment });
  const remote = await openRemote(repository, name, { env: isolatedGitEnvironment });
  try {
    return await fetchThreads(readingContext(repository), remote, { spine });
  } finally {
    await repository.close();
  }
}

/** How many connections there were: each begins by asking what there is. */
const connections = ({ requests }: GitHttpServer): number =>
  requests.filter(({ path }) => path.includes('info/refs')).length;

/** How many objects refs lead to that are not here. */
const absent = ({ git }: CliRepository): number =>
  git('rev-list', '--objects', '--all', '--missing=print')
    .split('\n')
    .filter((line) => line.startsWith('?')).length;

test('a light fetch brings what it takes to follow a thread, and contents in one connection when they are read', async () => {
  const { server, reader, thread } = await createScene();
  server.forget();
  const report = await fetchInto(reader, 'origin', true);
  expect(report).toMatchObject({ refused: [], threads: [{ thread, change: 'new' }] });
  expect(connections(server)).toBe(2);
  const left = absent(reader);
  expect(left).toBeGreaterThanOrEqual(6);
  expectCleanFsck(reader.dir);

  server.forget();
  const listed = await reader.uwf(['thread', 'list', '--all']);
  expect(listed.stdout).toContain('Write something');
  const log = await reader.uwf(['log', thread, '--oneline']);
  expect(log.stdout.match(/(?:writer|checker) /g)).toHaveLength(4);
  expect(await reader.uwf(['log', thread, '--graph'])).toMatchObject({ code: 0 });
  expect(await reader.json(['thread', 'show', thread])).toMatchObject({ status: 'ended', steps: 4 });
  expect(await reader.json(['thread', 'verify', thread])).toMatchObject({ sound: true, unchecked: left });
  expect(server.requests).toEqual([]);
  expect(absent(reader)).toBe(left);

  const read = await reader.uwf(['thread', 'read', thread]);
  expect(read.stdout).toContain('A second draft');
  expect(connections(server)).toBe(1);
  const whole = absent(reader);
  expect(whole).toBeLessThan(left);
  expect(await reader.json(['thread', 'verify', thread])).toMatchObject({ sound: true, unchecked: whole });
}, 120_000);

test("after a light fetch the user's own fetches stay whole, git keeps house, and what is new comes and goes as ever", async () => {
  const { author, server, reader, thread } = await createScene();
  await fetchInto(reader, 'origin', true);
  expect(reader.git('config', 'remote.origin.promisor')).toBe('true');
  const left = absent(reader);
  reader.git('gc', '--quiet', '--prune=now');
  reader.git('repack', '-a', '-d', '--quiet');
  expectCleanFsck(reader.dir);
  expect(absent(reader)).toBe(left);

  author.write('more.txt', 'more');
  author.git('add', '.');
  author.git('commit', '--quiet', '-m', 'more');
  const forked = (await author.json(['thread', 'fork', thread, '--at', '2'])) as { thread: string };
  expect((await author.uwf(['thread', 'run', forked.thread])).code).toBe(0);
  author.git('push', '--quiet', 'origin', 'main', 'refs/history/*');
  reader.git('remote', 'set-url', 'origin', author.git('remote', 'get-url', 'origin'));
  reader.git('fetch', '--quiet', 'origin');
  expect(reader.git('ls-tree', '--name-only', 'origin/main')).toContain('more.txt');
  expect(absent(reader)).toBe(left);
  reader.git('remote', 'set-url', 'origin', server.urlOf('shared.git'));

  const report = await fetchInto(reader, 'origin', false);
  expect(report).toMatchObject({ refused: [], threads: [{ thread: forked.thread }] });
  expect(await reader.uwf(['thread', 'read', forked.thread])).toMatchObject({ code: 0 });
  expectCleanFsck(reader.dir);
}, 120_000);

test('contents that were read late do not make git leave out contents of code', async () => {
  const { author, reader, thread } = await createScene();
  reader.git('remote', 'set-url', 'origin', `file://${author.git('remote', 'get-url', 'origin')}`);
  await fetchInto(reader, 'origin', true);
  const left = absent(reader);
  expect((await reader.uwf(['thread', 'read', thread])).code).toBe(0);
  const [missing] = reader.git('rev-list', '--objects', '--all', '--missing=print').match(/(?<=^\?)\w+$/m) ?? [];
  reader.git('cat-file', '-e', String(missing));
  const read = absent(reader);
  expect(read).toBeLessThan(left);

  author.write('more.txt', 'more');
  author.git('add', '.');
  author.git('commit', '--quiet', '-m', 'more');
  author.git('push', '--quiet', 'origin', 'main');
  reader.git('fetch', '--quiet', 'origin');
  expect(absent(reader)).toBe(read);
}, 120_000);

test("a filter that the user has for the remote's code stays", async () => {
  const { server, reader } = await createScene();
  reader.git('config', 'remote.origin.partialclonefilter', 'blob:limit=1m');
  server.forget();
  await fetchInto(reader, 'origin', true);
  expect(reader.git('config', 'remote.origin.partialclonefilter')).toBe('blob:limit=1m');
}, 120_000);

test('contents are not left out where nothing would remember who has them', async () => {
  const { server, reader } = await createScene();
  await expect(fetchInto(reader, server.urlOf('shared.git'), true)).rejects.toMatchObject({
    code: 'no-remote-to-return-to',
  });
  expect(reader.git('for-each-ref', 'refs/history')).toBe('');
}, 120_000);

test('a remote that cannot leave anything out is said to have sent everything, and nothing is asked for later', async () => {
  const { reader, server, author } = await createScene();
  const shared = author.git('remote', 'get-url', 'origin');
  runGit(shared, ['config', 'uploadpack.allowFilter', 'false']);
  reader.git('remote', 'set-url', 'origin', `file://${shared}`);
  const { code, stdout, stderr } = await reader.uwf(['fetch', '--spine']);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('everything was fetched') });
  expect(stdout).toContain('1 thread (1 new)');
  expect(absent(reader)).toBe(0);
  expect(reader.git('config', '--default', '', '--get', 'remote.origin.promisor')).toBe('');
  await server.close();
});
