import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FetchRequest } from '../../../src/git/remote.ts';
import { openRemote } from '../../../src/git/open-remote.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { ref } from '../../contracts/store-fixture.ts';
import { connectFromDisk } from './http-side.ts';

const threads: FetchRequest = { refs: ['refs/threads/*'] };

async function serve() {
  const server = createTemporaryRepository({ bare: true });
  server.git('config', 'http.receivepack', 'true');
  const http = await startGitHttpServer(dirname(server.dir));
  const received = (): number => http.requests.reduce((sum, { sent }) => sum + sent, 0);
  return { server, http, url: http.urlOf(basename(server.dir)), received };
}

test('where there is no git, a remote of the configuration is pushed to and fetched from', async () => {
  const { server, url } = await serve();
  const withoutGit = { env: { PATH: '/nonexistent' } };
  const [from, to] = [createTemporaryRepository(), createTemporaryRepository()];
  for (const local of [from, to]) local.git('remote', 'add', 'origin', url);
  const there = await from.open();
  const [one, two] = await writeChain(there, undefined, 'one', 'two');
  const pushed = await (
    await openRemote(there, undefined, withoutGit)
  ).push({
    edits: [{ name: ref('threads/a'), value: two! }],
  });
  expect(pushed).toEqual([{ name: 'refs/threads/a', outcome: 'done' }]);
  expectCleanFsck(server.dir);
  const here = await to.open();
  const incoming = await (await openRemote(here, 'origin', withoutGit)).fetch(threads);
  const guard = await incoming.accept([two!]);
  await here.refs.update([{ name: ref('threads/a'), expected: null, value: two! }]);
  await guard.release();
  await incoming.discard();
  expect(await here.objects.has(one!)).toBe(true);
  expectCleanFsck(to.dir);
});

describe('what is asked for', () => {
  test('is little where the other side is ahead by little, though nothing is remembered of it', async () => {
    const { url, http, received } = await serve();
    const [from, to] = [await connectFromDisk(url), await connectFromDisk(url)];
    const messages = Array.from({ length: 400 }, (_, number) => `step ${number}`);
    const chain = await writeChain(from.repository, undefined, ...messages);
    const name = ref('threads/a');
    await from.remote.push({ edits: [{ name, value: chain.at(-2)! }] });
    const first = await to.remote.fetch(threads);
    await first.accept([chain.at(-2)!]);
    await first.discard();
    // Here the thread went on by itself, there as well.
    const own = await writeChain(to.repository, chain.at(-2), 'own 1', 'own 2', 'own 3');
    await to.repository.refs.update([{ name, expected: null, value: own.at(-1)! }]);
    await from.remote.push({ edits: [{ name, value: chain.at(-1)! }] });
    http.forget();
    const second = await to.remote.fetch(threads);
    expect(http.requests).toHaveLength(2);
    expect(received()).toBeLessThan(2_000);
    expect((await second.objects.read(chain.at(-1)!))?.type).toBe('commit');
    await second.discard();
  });

  test('is not what a ref here leads to', async () => {
    const { url, http } = await serve();
    const [from, to] = [await connectFromDisk(url), await connectFromDisk(url)];
    const [one] = await writeChain(from.repository, undefined, 'one');
    await from.remote.push({ edits: [{ name: ref('threads/a'), value: one! }] });
    await writeChain(to.repository, undefined, 'one');
    await to.repository.refs.update([{ name: ref('heads/x'), expected: null, value: one! }]);
    http.forget();
    const incoming = await to.remote.fetch(threads);
    expect(http.requests).toHaveLength(1);
    await incoming.discard();
  });

  test('is brought and kept although it lies here without a ref', async () => {
    const { url } = await serve();
    const [from, to] = [await connectFromDisk(url), await connectFromDisk(url)];
    const chain = await writeChain(from.repository, undefined, 'one', 'two');
    await from.remote.push({ edits: [{ name: ref('threads/a'), value: chain[1]! }] });
    // As a thread that was removed leaves it: a `git gc` may be about to take it.
    await writeChain(to.repository, undefined, 'one', 'two');
    const incoming = await to.remote.fetch({ ...threads, known: [{ name: 'refs/threads/a', id: chain[1]! }] });
    const guard = await incoming.accept([chain[1]!]);
    to.git('-c', 'gc.cruftPacks=false', 'repack', '-adq');
    to.git('prune', '--expire=now');
    await to.repository.refs.update([{ name: ref('threads/a'), expected: null, value: chain[1]! }]);
    await guard.release();
    await incoming.discard();
    expectCleanFsck(to.dir);
    expect(to.git('rev-list', '--count', 'refs/threads/a')).toBe('2');
  });
});

test('a fork of the middle brings no more than itself, and what it follows is written once', async () => {
  const { url, received, http } = await serve();
  const [from, to] = [await connectFromDisk(url), await connectFromDisk(url)];
  const chain = await writeChain(from.repository, undefined, ...Array.from({ length: 300 }, (_, at) => `step ${at}`));
  await from.repository.refs.update([{ name: ref('threads/a'), expected: null, value: chain.at(-1)! }]);
  await from.remote.push({ edits: [{ name: ref('threads/a'), value: chain.at(-1)! }] });
  const first = await to.remote.fetch(threads);
  const guard = await first.accept([chain.at(-1)!]);
  await to.repository.refs.update([{ name: ref('threads/a'), expected: null, value: chain.at(-1)! }]);
  await guard.release();
  await first.discard();
  const [fork] = await writeChain(from.repository, chain[150], 'fork');
  http.forget();
  await from.remote.push({ edits: [{ name: ref('threads/b'), value: fork! }] });
  expect(http.requests.reduce((sum, request) => sum + request.received, 0)).toBeLessThan(1_000);
  http.forget();
  const second = await to.remote.fetch(threads);
  expect(received()).toBeLessThan(2_000);
  const written: number[] = [];
  const { objects } = to.repository;
  const write = objects.write.bind(objects);
  objects.write = async (all) => {
    written.push(all.length);
    return write(all);
  };
  await (await second.accept([fork!])).release();
  await second.discard();
  expect(written).toEqual([3]);
});
