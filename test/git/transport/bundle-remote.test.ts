import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import { RemoteUnreachable } from '../../../src/git/transport/git-output.ts';
import type { Remote } from '../../../src/git/transport/remote.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { failFs } from '../../helpers/failing-fs.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment as env,
} from '../../helpers/temporary-repository.ts';
import { ref } from '../../contracts/store-fixture.ts';

const all = { refs: ['refs/threads/*', 'refs/history/*'] };

async function scene() {
  const local = createTemporaryRepository();
  const repository = await local.open();
  const path = join(createTemporaryFolder(), 'threads.bundle');
  const open = (): Promise<Remote> => openRemote(repository, path, { env, direction: 'push' });
  const chain = await writeChain(repository, undefined, 'one', 'two', 'three');
  const [one, two, three] = chain as [ObjectId, ObjectId, ObjectId];
  return { local, repository, path, open, one, two, three };
}

describe('a bundle as a remote', () => {
  test('has nothing while it does not exist, and cannot be fetched from', async () => {
    const { open } = await scene();
    const remote = await open();
    expect(await remote.list(['refs/*'])).toEqual([]);
    await expect(remote.fetch(all)).rejects.toThrow(RemoteUnreachable);
  });

  test('is made by a push, whole, and fetched into an empty repository', async () => {
    const { open, path, two, three } = await scene();
    const edits = [
      { name: ref('threads/a'), value: three, expected: null },
      { name: ref('history/2026-11-21/b'), value: two },
    ];
    expect((await (await open()).push({ edits })).map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    expect(readdirSync(dirname(path))).toEqual(['threads.bundle']);

    const other = createTemporaryRepository();
    other.git('bundle', 'verify', '--quiet', path);
    const repository = await other.open();
    const remote = await openRemote(repository, path, { env });
    expect(remote.isConfigured).toBe(false);
    const told = [
      { name: 'refs/history/2026-11-21/b', id: two },
      { name: 'refs/threads/a', id: three },
    ];
    expect((await remote.list(['refs/*'])).toSorted((l, r) => (l.name < r.name ? -1 : 1))).toEqual(told);
    const incoming = await remote.fetch(all);
    expect(incoming.refs.toSorted((l, r) => (l.name < r.name ? -1 : 1))).toEqual(told);
    await (await incoming.accept([three])).release();
    await incoming.discard();
    expect(other.git('rev-list', '--count', three)).toBe('3');
  });

  test('leaves no other file where it lies on another file system that is full', async () => {
    const { open, path, one } = await scene();
    failFs('renameSync', { code: 'EXDEV', where: (at) => at === path, times: 1 });
    failFs('copyFileSync', { code: 'ENOSPC', isDone: true });
    const remote = await open();
    await expect(remote.push({ edits: [{ name: ref('threads/a'), value: one }] })).rejects.toMatchObject({
      code: 'storage-full',
    });
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test('keeps what another push put there, though its commits are not here', async () => {
    const { open, path, two } = await scene();
    await (await open()).push({ edits: [{ name: ref('threads/a'), value: two }] });
    const other = createTemporaryRepository();
    const repository = await other.open();
    const [strange] = (await writeChain(repository, undefined, 'strange')) as [ObjectId];
    const remote = await openRemote(repository, path, { env });
    expect(await remote.push({ edits: [{ name: ref('threads/b'), value: strange }] })).toEqual([
      { name: 'refs/threads/b', outcome: 'done' },
    ]);
    expect((await remote.list(['refs/*'])).map(({ name }) => name).toSorted()).toEqual([
      'refs/threads/a',
      'refs/threads/b',
    ]);
    other.git('clone', '--quiet', '--mirror', path, 'copy');
    expect(other.git('-C', 'copy', 'rev-list', '--count', two)).toBe('2');
  });

  test.each(['sha1', 'sha256'] as const)('is refused where it is not whole, in a repository of %s', async (format) => {
    const local = createTemporaryRepository({ objectFormat: format });
    const repository = await local.open();
    const path = join(createTemporaryFolder(), 'threads.bundle');
    const open = (): Promise<Remote> => openRemote(repository, path, { env, direction: 'push' });
    const commit = (message: string): ObjectId => {
      local.git('commit', '--quiet', '--allow-empty', '--message', message);
      return parseObjectId(local.git('rev-parse', 'HEAD'));
    };
    // Together more than a file is read of at once.
    const one = commit(randomBytes(60_000).toString('hex'));
    const two = commit(randomBytes(60_000).toString('hex'));
    await (await open()).push({ edits: [{ name: ref('threads/a'), value: two }] });
    const whole = readFileSync(path);
    const turned = Buffer.from(whole);
    turned[whole.length - 40] = 255 - (turned[whole.length - 40] ?? 0);
    for (const damaged of [whole.subarray(0, 50), whole.subarray(0, 70_000), whole.subarray(0, -1), turned]) {
      writeFileSync(path, damaged);
      const remote = await open();
      const wrong = { code: 'bundle-damaged', kind: 'data' };
      await expect(remote.list(['refs/*'])).rejects.toMatchObject(wrong);
      await expect(remote.fetch(all)).rejects.toMatchObject(wrong);
      await expect(remote.push({ edits: [{ name: ref('threads/b'), value: one }] })).rejects.toMatchObject(wrong);
      expect(readFileSync(path).equals(damaged)).toBe(true);
    }
    writeFileSync(path, whole);
    expect(await (await open()).list(['refs/*'])).toEqual([{ name: 'refs/threads/a', id: two }]);
  });

  test('moves refs forward only, all of them or none', async () => {
    const { open, path, one, two, three } = await scene();
    const remote = await open();
    await remote.push({ edits: [{ name: ref('threads/a'), value: two }] });
    const before = readFileSync(path);
    for (const wrong of [
      { value: one },
      { value: three, expected: one },
      { value: three, expected: null },
      { value: null, expected: one },
    ]) {
      const edits = [
        { name: ref('threads/new'), value: one },
        { name: ref('threads/a'), ...wrong },
      ];
      expect((await remote.push({ edits })).map(({ outcome }) => outcome)).toEqual(['undone', 'moved']);
    }
    expect(await remote.push({ edits: [{ name: ref('threads/a'), value: two }] })).toEqual([
      { name: 'refs/threads/a', outcome: 'unchanged' },
    ]);
    expect(readFileSync(path).equals(before)).toBe(true);
    const deletion = [{ name: ref('threads/a'), value: null, expected: two }];
    expect(await remote.push({ edits: deletion })).toEqual([{ name: 'refs/threads/a', outcome: 'done' }]);
    expect(existsSync(path)).toBe(false);
  });

  test('is left alone where it is no bundle, or cannot be written', async () => {
    const { repository, path, open, one } = await scene();
    writeFileSync(path, 'something else\n');
    const remote = await open();
    const edits = [{ name: ref('threads/a'), value: one }];
    await expect(remote.push({ edits })).rejects.toThrow(RemoteUnreachable);
    expect(readFileSync(path, 'utf8')).toBe('something else\n');
    const nowhere = await openRemote(repository, join(path, '..', 'no', 'such.bundle'), { env });
    await expect(nowhere.push({ edits })).rejects.toThrow(/no.such\.bundle|ENOENT/);
  });
});
