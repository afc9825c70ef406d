import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { BrokenRef, InvalidRefName, ObjectMissing, RefLocked } from '../../../src/git/format/errors.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { type RefEdit, RefMoved } from '../../../src/git/repository.ts';
import {
  openDiskStores,
  type DiskStores,
  type DiskStoreOptions,
} from '../../../src/git/stores/disk/open-disk-stores.ts';
import { ref, writeCommits } from '../../contracts/store-fixture.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../helpers/temporary-repository.ts';

// What every ref store does is in contracts/ref-store.ts; this is about git, locks and other processes.

const thread = ref('threads/one');
let repository: TemporaryRepository;
let gitDir: string;
let stores: DiskStores;
let a: ObjectId;
let b: ObjectId;

function open(options: DiskStoreOptions = {}): DiskStores {
  const location = { gitDir, commonDir: gitDir, workTree: repository.dir };
  const opened = openDiskStores(location, { env: isolatedGitEnvironment, lockTimeoutMs: 100, ...options });
  onTestFinished(() => opened.close());
  return opened;
}

function write(path: string, content = ''): string {
  const file = join(gitDir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const move = (by = stores): Promise<void> => by.refs.update([{ name: thread, expected: a, value: b }]);
const locks = (): string[] =>
  readdirSync(gitDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lock'));

beforeEach(async () => {
  repository = createTemporaryRepository();
  gitDir = join(repository.dir, '.git');
  stores = open();
  [a, b] = (await writeCommits(stores.objects, 'a', 'b')) as [ObjectId, ObjectId];
  await stores.refs.update([{ name: thread, expected: null, value: a }]);
});

describe('a lock that is held', () => {
  test('on a ref is waited for and never broken; the error names it and its remedy, and nothing is changed', async () => {
    const lockPath = write('refs/threads/two.lock');
    const attempt = stores.refs.update([
      { name: thread, expected: a, value: b },
      { name: ref('threads/two'), expected: null, value: b },
    ]);
    await expect(attempt).rejects.toThrow(RefLocked);
    await expect(attempt).rejects.toMatchObject({
      kind: 'conflict',
      ref: 'refs/threads/two',
      lockPath,
      hint: expect.stringContaining(`remove ${lockPath} by hand`) as string,
    });
    expect(locks()).toEqual(['refs/threads/two.lock']);
    expect(await stores.refs.read(thread)).toBe(a);
  });

  test('on packed-refs stops deletions only, and nothing of their transaction is changed', async () => {
    const lockPath = write('packed-refs.lock');
    const attempt = stores.refs.update([
      { name: thread, expected: a, value: null },
      { name: ref('history/2026-11-21/one'), expected: null, value: a },
    ]);
    await expect(attempt).rejects.toMatchObject({ name: 'RefLocked', ref: 'packed-refs', lockPath });
    expect(await stores.refs.list('refs/')).toEqual([{ name: thread, id: a }]);
    expect(locks()).toEqual(['packed-refs.lock']);
    await move();
  });

  test('is followed by the change once it is gone', async () => {
    const lockPath = write(`${thread}.lock`);
    const attempt = move(open({ lockTimeoutMs: 10_000 }));
    setTimeout(() => unlinkSync(lockPath), 50);
    await attempt;
    expect(await stores.refs.read(thread)).toBe(b);
  });
});

describe('a change', () => {
  test('that git refuses takes no other along that this process makes at the same time', async () => {
    const names = Array.from({ length: 8 }, (_, at) => ref(`threads/n${at}`));
    const edits = names.map((name, at): RefEdit => ({ name, expected: at % 2 === 0 ? null : b, value: a }));
    const outcomes = await Promise.allSettled(edits.map((edit) => stores.refs.update([edit])));
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(names.map((_, at) => at % 2 === 0));
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RefMoved);
  });

  test.each([0, 3600])(
    'is refused where git takes packed refs for those that it read before, %i s ahead',
    async (aheadS) => {
      const packedRefs = join(gitDir, 'packed-refs');
      const { git } = repository;
      const time = Math.floor(Date.now() / 1000) + 1 + aheadS;
      // git tells two files apart by inode, size and second. An inode is free again once its file was replaced twice.
      await sleep(1000 - (Date.now() % 1000));
      git('pack-refs', '--all');
      utimesSync(packedRefs, time, time);
      await stores.refs.update([{ name: thread, expected: a, value: a }]);
      writeFileSync(packedRefs, readFileSync(packedRefs, 'utf8').replace(a, b));
      utimesSync(packedRefs, time, time);
      const [c] = (await writeCommits(stores.objects, 'c')) as [ObjectId];
      const late = stores.refs.update([{ name: thread, expected: a, value: c }]);
      await expect(late).rejects.toMatchObject({ code: 'ref-moved', actual: b });
      expect(git('rev-parse', thread)).toBe(b);
      expect(locks()).toEqual([]);
      await stores.refs.update([{ name: thread, expected: b, value: c }]);
      expect(git('rev-parse', thread)).toBe(c);
    },
  );

  test('of a symbolic ref is made where it leads, and of one ref it is made once', async () => {
    write('refs/threads/alias', `ref: ${thread}\n`);
    const twice = stores.refs.update(
      ['alias', 'one'].map((name) => ({ name: ref(`threads/${name}`), expected: a, value: b })),
    );
    await expect(twice).rejects.toThrow(InvalidRefName);
    await expect(twice).rejects.toThrow('it is changed twice in one transaction');
    await stores.refs.update([{ name: ref('threads/alias'), expected: a, value: b }]);
    expect(await stores.refs.read(thread)).toBe(b);
  });

  test('to an object that is not here, or over a broken ref, is refused', async () => {
    const missing = { name: thread, expected: a, value: 'c'.repeat(40) as ObjectId };
    await expect(stores.refs.update([missing])).rejects.toThrow(ObjectMissing);
    write(thread, 'nonsense');
    await expect(move()).rejects.toThrow(BrokenRef);
  });

  test('is refused where git keeps objects in quarantine until it accepts a push', async () => {
    const env = { ...isolatedGitEnvironment, GIT_QUARANTINE_PATH: '/nowhere' };
    await expect(move(open({ env }))).rejects.toMatchObject({ code: 'in-quarantine' });
    expect(await stores.refs.read(thread)).toBe(a);
  });

  test('needs no work tree, runs no hook and leaves no reflog', async () => {
    const hook = write('hooks/reference-transaction', `#!/bin/sh\necho ran >>"${gitDir}/ran"\n`);
    chmodSync(hook, 0o755);
    repository.git('config', 'core.logAllRefUpdates', 'always');
    const tree = join(repository.dir, 'gone');
    const location = { gitDir, commonDir: gitDir, workTree: tree };
    const opened = openDiskStores(location, { env: isolatedGitEnvironment });
    onTestFinished(() => opened.close());
    await move(opened);
    expect(existsSync(join(gitDir, 'ran'))).toBe(false);
    expect(existsSync(join(gitDir, 'logs/refs/threads'))).toBe(false);
    rmSync(hook);
  });
});

/** The running `git update-ref` of this process. */
function running(): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const isOurs = Number(parent) === process.pid && state !== 'Z';
      return isOurs && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('update-ref') ? [Number(name)] : [];
    } catch {
      // It has ended meanwhile, or is no process.
      return [];
    }
  });
}

test.runIf(existsSync('/proc/self/stat'))(
  'git is started once, again if somebody kills it, and ends at the close',
  async () => {
    await stores.close();
    const before = new Set(running());
    const own = (): number[] => running().filter((pid) => !before.has(pid));
    await move();
    const [first] = own();
    await stores.refs.update([{ name: ref('threads/two'), expected: null, value: b }]);
    expect(own()).toEqual([first]);
    process.kill(first!, 'SIGKILL');
    await stores.refs.update([{ name: parseRefName('refs/threads/two'), expected: b, value: null }]);
    expect(own()).not.toContain(first);
    await stores.close();
    expect(own()).toEqual([]);
  },
);
