import { createHash } from 'node:crypto';
import nodeFs, { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CorruptObject, StorageFull, StorageReadOnly } from '../../../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { openPortableRepository } from '../../../../src/git/stores/portable/open-portable-repository.ts';
import { readCommit } from '../../../../src/git/stores/read.ts';
import { parseRefName } from '../../../../src/git/format/refs.ts';
import { RefMoved } from '../../../../src/git/repository.ts';
import { RepositoryNotFound } from '../../../../src/git/repository/git-directory.ts';
import { blob } from '../../../contracts/store-fixture.ts';
import { createMemoryRepository, expectCleanMemory } from '../../../helpers/memory-repository.ts';
import { appendCommit } from '../../../helpers/small-thread.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  runGit,
} from '../../../helpers/temporary-repository.ts';

const thread = parseRefName('refs/threads/one');

/** Node's promises, some of them replaced, as a file system that fails where a test wants it to. */
function fsWith(replaced: Record<string, unknown>): { promises: typeof nodeFs.promises } {
  return { promises: { ...nodeFs.promises, ...replaced } };
}

const failure = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

const files = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();

describe('a linked worktree', () => {
  test('is refused, because what was written there would land where git never looks', async () => {
    const main = createTemporaryRepository();
    main.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    const linked = join(createTemporaryFolder(), 'linked');
    main.git('worktree', 'add', '--quiet', linked);
    const before = files(join(main.dir, '.git'));
    const attempt = openPortableRepository({ fs: nodeFs, dir: linked });
    await expect(attempt).rejects.toMatchObject({ code: 'unsupported-repository' });
    await expect(attempt).rejects.toMatchObject({ feature: 'a linked worktree' });
    expect(files(join(main.dir, '.git'))).toEqual(before);
  });

  test('is usable through the repository that it belongs to', async () => {
    const main = createTemporaryRepository();
    main.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    const linked = join(createTemporaryFolder(), 'linked');
    main.git('worktree', 'add', '--quiet', linked);
    const repository = await openPortableRepository({ fs: nodeFs, gitdir: join(main.dir, '.git/') });
    const commit = await appendCommit(repository, thread, 'one');
    expect(runGit(linked, ['rev-parse', thread])).toBe(commit);
    expectCleanFsck(main.dir);
  });
});

describe('what is written appears whole or not at all', () => {
  test('when the writer is killed in the middle: nothing partial at an object or ref path', async () => {
    const { dir } = createTemporaryRepository();
    const sound = await openPortableRepository({ fs: nodeFs, dir });
    const head = await appendCommit(sound, thread, 'before');
    const before = files(join(dir, '.git'));
    // A process that dies while it writes: half of the bytes are there, and nothing after that happens.
    const dying = {
      open: async (path: string, flags: string) => {
        const handle = await nodeFs.promises.open(path, flags);
        return {
          writeFile: async (data: Uint8Array) => {
            await handle.writeFile(data.subarray(0, data.length >> 1));
            await handle.close();
            await new Promise(() => {});
          },
        };
      },
    };
    const killed = await openPortableRepository({ fs: fsWith(dying), dir });
    void killed.objects.write([blob('never finished, and long enough to be cut in half')]);
    await expect.poll(() => files(join(dir, '.git')).length).toBe(before.length + 1);
    const [leftover] = files(join(dir, '.git')).filter((path) => !before.includes(path));
    expect(leftover).toMatch(/objects\/tmp_obj_[^/]+$/);
    expectCleanFsck(dir);
    const after = await openPortableRepository({ fs: nodeFs, dir });
    expect(await after.refs.read(thread)).toBe(head);
    await appendCommit(after, thread, 'after');
    // git sweeps it away when it collects garbage.
    runGit(dir, ['prune', '--expire=now']);
    expect(existsSync(leftover!)).toBe(false);
    expectCleanFsck(dir);
  });

  test.each(['ENOSPC', 'EDQUOT'])('when the disk is full (%s): the error says so and nothing stays', async (code) => {
    for (const failing of ['open', 'writeFile', 'sync', 'mkdir', 'rename']) {
      const { dir } = createTemporaryRepository();
      const sound = await openPortableRepository({ fs: nodeFs, dir });
      const head = await appendCommit(sound, thread, 'before');
      const before = files(join(dir, '.git'));
      const fs = fsWith(failingAt(failing, code));
      const full = await openPortableRepository({ fs, dir });
      await expect(appendCommit(full, thread, `fails at ${failing}`)).rejects.toThrow(StorageFull);
      // Objects that were complete may stay, unreferenced; nothing half-written and no temporary file does.
      expect(files(join(dir, '.git')).filter((path) => !before.includes(path) && !isObject(path))).toEqual([]);
      expect(await sound.refs.read(thread)).toBe(head);
      expectCleanFsck(dir);
    }
  });

  test('when the disk fills up while refs change: all of them stay as they were', async () => {
    const { dir } = createTemporaryRepository();
    const sound = await openPortableRepository({ fs: nodeFs, dir });
    const a = await appendCommit(sound, thread, 'a');
    const b = await appendCommit(sound, parseRefName('refs/threads/two'), 'b');
    runGit(dir, ['pack-refs', '--all']);
    const before = files(join(dir, '.git')).map((path) => [path, readFileSync(path, 'latin1')]);
    let opened = 0;
    const fs = fsWith({
      open: async (...args: Parameters<typeof nodeFs.promises.open>) => {
        opened += 1;
        if (opened === 2) throw failure('ENOSPC');
        return nodeFs.promises.open(...args);
      },
    });
    const full = await openPortableRepository({ fs, dir });
    const attempt = full.refs.update([
      { name: thread, expected: a, value: b },
      { name: parseRefName('refs/threads/three'), expected: null, value: a },
      { name: parseRefName('refs/threads/two'), expected: b, value: null },
    ]);
    await expect(attempt).rejects.toThrow(StorageFull);
    expect(files(join(dir, '.git')).map((path) => [path, readFileSync(path, 'latin1')])).toEqual(before);
  });

  test.each(['EROFS', 'EACCES', 'EPERM'])('when the repository is read-only (%s): the error says so', async (code) => {
    const { dir } = createTemporaryRepository();
    const readOnly = await openPortableRepository({ fs: fsWith(failingAt('open', code)), dir });
    const attempt = appendCommit(readOnly, thread, 'one');
    await expect(attempt).rejects.toThrow(StorageReadOnly);
    await expect(attempt).rejects.toMatchObject({ kind: 'environment' });
    expectCleanFsck(dir);
  });

  function failingAt(step: string, code: string): Record<string, unknown> {
    const fail = async (): Promise<never> => {
      throw failure(code);
    };
    if (step === 'writeFile' || step === 'sync') {
      return {
        open: async (...args: Parameters<typeof nodeFs.promises.open>) => {
          const handle = await nodeFs.promises.open(...args);
          return {
            writeFile: step === 'writeFile' ? fail : (data: Uint8Array) => handle.writeFile(data),
            sync: fail,
            close: () => handle.close(),
          };
        },
      };
    }
    return { [step]: fail };
  }

  const isObject = (path: string): boolean => /objects\/[0-9a-f]{2}\/[0-9a-f]{38}$/.test(path);
});

describe('beside what git leaves and does', () => {
  test('a half-written index that a killed git left among the packs is no pack', async () => {
    const on = createTemporaryRepository();
    on.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    on.git('repack', '-adq');
    const packs = join(on.dir, '.git/objects/pack');
    writeFileSync(join(packs, '.tmp-4711-pack-0123456789abcdef0123456789abcdef01234567.idx'), 'half an ind');
    writeFileSync(join(packs, 'tmp_idx_abcdef.idx'), '');
    const repository = await openPortableRepository({ fs: nodeFs, dir: on.dir });
    const head = parseObjectId(on.git('rev-parse', 'HEAD'));
    expect((await readCommit(repository.objects, head)).message).toBe('first\n');
    expect(await repository.objects.has(parseObjectId('0123456789abcdef0123456789abcdef01234567'))).toBe(false);
  });

  test('objects are found wherever a repack has put them since', async () => {
    const on = createTemporaryRepository();
    const repository = await openPortableRepository({ fs: nodeFs, dir: on.dir });
    const heads: ObjectId[] = [];
    for (let round = 1; round <= 6; round += 1) {
      heads.push(await appendCommit(repository, thread, `round ${round}`));
      on.git('repack', '-adq');
      on.git('prune-packed');
      for (const head of heads) expect((await readCommit(repository.objects, head)).tree).toBeDefined();
    }
    expectCleanFsck(on.dir);
  });

  test('an object is found whose pack a repack took away between the look at the index and at the pack', async () => {
    const on = createTemporaryRepository();
    const plain = await openPortableRepository({ fs: nodeFs, dir: on.dir });
    const head = await appendCommit(plain, thread, 'packed twice');
    on.git('repack', '-adq');
    await appendCommit(plain, thread, 'makes the next pack another one');
    let repacks = 0;
    const fs = fsWith({
      readFile: async (...args: Parameters<typeof nodeFs.promises.readFile>) => {
        if (typeof args[0] === 'string' && args[0].endsWith('.pack') && repacks === 0) {
          repacks += 1;
          on.git('repack', '-adq');
        }
        return nodeFs.promises.readFile(...args);
      },
    });
    const repository = await openPortableRepository({ fs, dir: on.dir });
    expect((await readCommit(repository.objects, head)).message).toBe('packed twice\n');
    expect(repacks).toBe(1);
  });

  test('an object is refused that an index gives out for another one', async () => {
    const on = createTemporaryRepository();
    runGit(on.dir, ['hash-object', '-w', '--stdin'], 'honest');
    const packs = join(on.dir, '.git/objects/pack');
    const honest = runGit(on.dir, ['hash-object', '--stdin'], 'honest');
    const name = runGit(on.dir, ['pack-objects', '-q', join(packs, 'pack')], `${honest}\n`);
    on.git('prune-packed');
    const path = join(packs, `pack-${name}.idx`);
    const index = readFileSync(path);
    // The last digits of the only id in it: its place in the fan-out stays as it is.
    const at = index.indexOf(Buffer.from(honest, 'hex')) + 19;
    index[at]! ^= 0xff;
    createHash('sha1')
      .update(index.subarray(0, -20))
      .digest()
      .copy(index, index.length - 20);
    rmSync(path);
    writeFileSync(path, index);
    const forged = parseObjectId(index.subarray(at - 19, at + 1).toString('hex'));
    const repository = await openPortableRepository({ fs: nodeFs, dir: on.dir });
    const read = repository.objects.read(forged);
    await expect(read).rejects.toThrow(CorruptObject);
    await expect(read).rejects.toThrow(honest);
  });

  test('an object that is there already is as new as one just written, so that git gc keeps it', async () => {
    const on = createTemporaryRepository();
    const now = Date.parse('2026-11-21T12:00:00Z');
    const repository = await openPortableRepository({ fs: nodeFs, dir: on.dir, now: () => now });
    const object = blob('written long ago, and now again');
    await (await repository.objects.write([object])).release();
    const id = hashObject(object);
    const path = join(on.dir, '.git/objects', id.slice(0, 2), id.slice(2));
    utimesSync(path, 1_000_000_000, 1_000_000_000);
    await (await repository.objects.write([object])).release();
    expect(statSync(path).mtimeMs).toBe(now);
    on.git('prune', '--expire=2026-11-20');
    expect(await repository.objects.has(id)).toBe(true);
  });

  test('an object that is only in a pack is written again, because that pack may be about to go', async () => {
    const on = createTemporaryRepository();
    const repository = await openPortableRepository({ fs: nodeFs, dir: on.dir });
    await appendCommit(repository, thread, 'kept in a pack');
    on.git('repack', '-adq');
    const object = blob('kept in a pack');
    const id = hashObject(object);
    const path = join(on.dir, '.git/objects', id.slice(0, 2), id.slice(2));
    expect(existsSync(path)).toBe(false);
    await (await repository.objects.write([object])).release();
    expect(existsSync(path)).toBe(true);
  });

  test('a deleted ref never shows an older packed value, at no step of its deletion', async () => {
    const on = createTemporaryRepository();
    const plain = await openPortableRepository({ fs: nodeFs, dir: on.dir });
    const old = await appendCommit(plain, thread, 'old');
    on.git('pack-refs', '--all', '--prune');
    const head = await appendCommit(plain, thread, 'new');
    const seen: string[] = [];
    const look = (): void => void seen.push(on.git('for-each-ref', '--format=%(objectname)', thread));
    const watching =
      (name: 'rename' | 'unlink' | 'rmdir') =>
      async (...args: [never, never]) => {
        look();
        await nodeFs.promises[name](...args);
        look();
      };
    const fs = fsWith({ rename: watching('rename'), unlink: watching('unlink'), rmdir: watching('rmdir') });
    const repository = await openPortableRepository({ fs, dir: on.dir });
    await repository.refs.update([{ name: thread, expected: head, value: null }]);
    expect(seen).toContain(head);
    expect(seen).not.toContain(old);
    expect(seen.at(-1)).toBe('');
  });
});

describe('within one process', () => {
  test('no append is lost, from however many openings of the repository', async () => {
    const memory = await createMemoryRepository();
    const openings = [memory.repository];
    for (let count = 1; count < 4; count += 1) {
      openings.push(await openPortableRepository({ fs: memory.fs, gitdir: memory.gitdir }));
    }
    const append = async (index: number): Promise<void> => {
      for (;;) {
        try {
          await appendCommit(openings[index % openings.length]!, thread, `append ${index}`);
          return;
        } catch (error) {
          if (!(error instanceof RefMoved)) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 24 }, (_, index) => append(index)));
    const disk = memory.copyToDisk();
    const subjects = runGit(disk, ['log', '--format=%s', thread]).split('\n');
    expect(subjects.toSorted()).toEqual(Array.from({ length: 24 }, (_, index) => `append ${index}`).toSorted());
    expectCleanMemory(memory);
  });
});

describe('a portable repository is opened', () => {
  test('only where there is one, unless it is to be made', async () => {
    const dir = createTemporaryFolder();
    await expect(openPortableRepository({ fs: nodeFs, dir })).rejects.toThrow(RepositoryNotFound);
    expect(readdirSync(dir)).toEqual([]);
    const made = await openPortableRepository({ fs: nodeFs, dir, create: true });
    await appendCommit(made, thread, 'one');
    expect(runGit(dir, ['log', '--format=%s', thread])).toBe('one');
    expectCleanFsck(dir);
    expect(made).toMatchObject({
      location: undefined,
      stateDir: undefined,
      committer: { name: 'uwf', email: 'uwf@localhost' },
    });
  });

  test('in memory without a folder of its own, and twice the same one', async () => {
    const memory = await createMemoryRepository();
    const commit = await appendCommit(memory.repository, thread, 'one');
    const again = await openPortableRepository({ fs: memory.fs, dir: '/repository', create: true });
    expect(await again.refs.read(thread)).toBe(commit);
  });

  test('with what it is told about time and committer', async () => {
    const memory = await createMemoryRepository(() => 42);
    expect(memory.repository.now()).toBe(42);
    const committer = { name: 'C', email: 'c@example.com' };
    const opened = await openPortableRepository({ fs: memory.fs, gitdir: memory.gitdir, committer });
    expect(opened.committer).toEqual(committer);
  });
});
