import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { StorageFull } from '../../../../src/git/format/object-errors.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { InvalidRefName, RefLocked, RefNameConflict } from '../../../../src/git/format/ref-errors.ts';
import { parseRefName } from '../../../../src/git/format/ref-name.ts';
import { RefMoved } from '../../../../src/git/ref-store.ts';
import type { RepositoryLocation } from '../../../../src/git/repository.ts';
import { LockLost } from '../../../../src/git/stores/disk/file-lock.ts';
import { LockRecords } from '../../../../src/git/stores/disk/lock-records.ts';
import { RefReader } from '../../../../src/git/stores/disk/ref-reader.ts';
import { RefTransaction } from '../../../../src/git/stores/disk/ref-transaction.ts';
import { formatIdentity, ownIdentity } from '../../../../src/git/system/process-identity.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

// What git does with the same edits is compared in ref-transaction-as-git.test.ts; this is about other processes and failing disks.

const one = `1${'a'.repeat(39)}` as ObjectId;
const two = `2${'b'.repeat(39)}` as ObjectId;

/** The short name of a ref in refs/threads, the value that is expected, and the new one. */
type Edit = [name: string, expected: ObjectId | null, value: ObjectId | null];

let dir: string;
let location: RepositoryLocation;
let records: LockRecords;
let reader: RefReader;

beforeEach(() => {
  dir = createTemporaryFolder();
  location = { gitDir: join(dir, 'worktrees/w'), commonDir: dir, workTree: undefined };
  records = new LockRecords(dir);
  reader = new RefReader(location);
  return () => reader.packed.close();
});

const fullName = (name: string): string => (/^(?:refs\/|[A-Z]+$)/.test(name) ? name : `refs/threads/${name}`);
const at = (name: string): string => join(dir, fullName(name));

function run(...edits: Edit[]): Promise<boolean> {
  const changes = edits.map(([name, expected, value]) => ({ name: parseRefName(fullName(name)), expected, value }));
  return new RefTransaction(changes, { location, reader, records, lockTimeoutMs: 0 }).run();
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}

/** Sets loose refs in refs/threads. */
function set(values: Record<string, string>): void {
  for (const [name, value] of Object.entries(values)) write(fullName(name), `${value}\n`);
}

function pack(values: Record<string, string>): void {
  const lines = Object.entries(values).map(([name, value]) => `${value} refs/threads/${name}\n`);
  write('packed-refs', `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`);
}

const valueOf = (name: string): string | undefined => reader.follow(parseRefName(fullName(name))).id;

/** Locks, records of locks and staged content: a transaction leaves none. */
function leftovers(): string[] {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => path.endsWith('.lock') || /uwf\/locks\/./.test(path));
}

/** Does something right before a file gets the name of a ref, or its record; the call itself works. */
function before(call: 'renameSync' | 'linkSync', isIt: (path: string) => boolean, act: () => void): void {
  failFs(call, { code: 'never', where: (path) => (isIt(path) && act(), false) });
}

/** What another process does that finds the locks of this one lapsed. */
function breakLocks(): void {
  rmSync(join(dir, 'uwf'), { recursive: true });
  for (const path of leftovers()) rmSync(join(dir, path));
}

/** Notes calls that change names, new content, and syncs of folders, in their order: `rename refs/threads/a`. */
function recorded(): string[] {
  const calls: string[] = [];
  for (const call of ['linkSync', 'renameSync', 'unlinkSync', 'openSync'] as const) {
    const where = (path: string): boolean => {
      const shown = relative(dir, path).replace(/^uwf\/locks\/.*@/, 'records/');
      if (call !== 'openSync') {
        if (call !== 'unlinkSync' || !shown.startsWith('records/')) calls.push(`${call.slice(0, -4)} ${shown}`);
      } else if (path.includes('+@')) calls.push(`stage ${shown}`);
      else if (existsSync(path) && statSync(path).isDirectory()) calls.push(`sync ${shown}`);
      return false;
    };
    failFs(call, { code: 'never', where });
  }
  return calls;
}

describe('the order of a transaction', () => {
  test('is git’s: locks by the bytes of the names, new values, the packed value, the loose one', async () => {
    pack({ old: one });
    set({ old: two });
    const calls = recorded();
    await run(['\u{1F600}', null, one], ['old', two, null], ['\uFF5E', null, one], ['new/deep', null, one]);
    expect(calls).toEqual([
      // What takes time comes before the locks.
      ...['%F0%9F%98%80', '%EF%BD%9E', 'new%2Fdeep'].map((name) => `stage records/refs%2Fthreads%2F${name}.lock`),
      ...['new/deep', 'old', '\uFF5E', '\u{1F600}'].map((name) => `link refs/threads/${name}.lock`),
      'link packed-refs.lock',
      'stage records/packed-refs.lock',
      // A ref is free again as soon as it is changed: the disk may take long to sync.
      ...['new/deep', '\uFF5E', '\u{1F600}'].flatMap((name) => [
        `rename refs/threads/${name}`,
        `unlink refs/threads/${name}.lock`,
      ]),
      'sync refs/threads/new',
      'sync refs/threads',
      'rename packed-refs',
      'sync ',
      'rename records/refs%2Fthreads%2Fold',
      'unlink logs/refs/threads/old',
      'sync refs/threads',
      'unlink packed-refs.lock',
      'unlink refs/threads/old.lock',
    ]);
    expect(leftovers()).toEqual([]);
  });

  test('writes nothing where nothing changes but locks', async () => {
    set({ a: one });
    const calls = recorded();
    await run(['a', one, one], ['none', null, null]);
    expect(calls).toEqual([
      'link refs/threads/a.lock',
      'link refs/threads/none.lock',
      'unlink refs/threads/a.lock',
      'unlink refs/threads/none.lock',
    ]);
  });

  test('rewrites packed-refs for the deletion of a packed ref only: damage in it stops no other change', async () => {
    set({ a: one, b: one });
    write('packed-refs', `damaged\n${one} refs/threads/a\n`);
    expect(await run(['a', one, two])).toBe(true);
    await expect(run(['a', two, null])).rejects.toThrow('git cannot read');
    expect(await run(['b', one, null])).toBe(true);
    expect([valueOf('a'), existsSync(at('b')), leftovers()]).toEqual([two, false, []]);
  });

  test('leaves packed-refs as it is where a deleted ref is not in it', async () => {
    pack({ other: one });
    set({ a: one });
    const calls = recorded();
    await run(['a', one, null]);
    expect(calls).not.toContain('rename packed-refs');
    expect(calls).toContain('link packed-refs.lock');
  });
});

describe('the names of a transaction', () => {
  test('are those that symbolic refs lead to: a ref is not changed twice', async () => {
    set({ alias: 'ref: refs/threads/a' });
    const attempt = run(['alias', null, one], ['a', null, two]);
    await expect(attempt).rejects.toThrow(InvalidRefName);
    await expect(attempt).rejects.toThrow('it is changed twice in one transaction');
    expect(valueOf('a')).toBeUndefined();
  });

  test('include a symbolic ref that leads elsewhere once its lock is taken: it has moved', async () => {
    set({ alias: 'ref: refs/threads/a', a: one, b: one });
    before(
      'linkSync',
      (path) => path === at('a.lock'),
      () => set({ alias: 'ref: refs/threads/b' }),
    );
    await expect(run(['alias', one, two])).rejects.toThrow(RefMoved);
    expect([valueOf('a'), valueOf('b'), leftovers()]).toEqual([one, one, []]);
  });

  // git refuses that, because a ref could not be created there; that there is no such ref is true all the same.
  test('may be one that git would not allow beside another, where it is only asserted to be absent', async () => {
    set({ 'a/b': one });
    expect(await run(['a', null, null])).toBe(true);
    pack({ p: one });
    expect(await run(['p', one, one], ['p/q', null, null])).toBe(true);
    expect(leftovers()).toEqual([]);
  });

  test.each(['a', 'a/b/c'])('cannot be that of a ref beside %s', async (name) => {
    set({ 'a/b': one });
    const conflict = { ref: fullName(name), existing: 'refs/threads/a/b' };
    await expect(run([name, null, one])).rejects.toMatchObject(conflict);
    await expect(run([name, null, one])).rejects.toThrow(RefNameConflict);
  });

  test('name the other one of the transaction where they conflict', async () => {
    const [a, ab, name] = ['refs/threads/a', 'refs/threads/a/b', 'a/b'];
    await expect(run(['a', null, one], [name, null, null])).rejects.toMatchObject({ ref: a, existing: ab });
    await expect(run(['a', null, null], [name, null, one])).rejects.toMatchObject({ ref: ab, existing: a });
  });
});

describe('a value that is not the expected one', () => {
  test('is an error that names both, and nothing is changed', async () => {
    set({ a: one, b: one });
    const attempt = run(['a', one, two], ['b', two, null]);
    await expect(attempt).rejects.toThrow(RefMoved);
    await expect(attempt).rejects.toMatchObject({ ref: 'refs/threads/b', expected: two, actual: one });
    await expect(run(['c', one, two])).rejects.toMatchObject({ expected: one, actual: null });
    expect([valueOf('a'), valueOf('b'), leftovers()]).toEqual([one, one, []]);
  });

  test('is noticed before anything is written', async () => {
    set({ a: one });
    const calls = recorded();
    await expect(run(['a', two, one])).rejects.toThrow(RefMoved);
    expect(calls).toEqual([]);
  });

  test('is noticed when it comes just before the lock is taken', async () => {
    set({ a: one });
    before(
      'linkSync',
      (path) => path === at('a.lock'),
      () => set({ a: two }),
    );
    await expect(run(['a', one, null])).rejects.toThrow(RefMoved);
    expect(valueOf('a')).toBe(two);
  });
});

describe('the lock of another process', () => {
  test('on one of the refs is an error, and nothing is changed', async () => {
    write('refs/threads/b.lock', '');
    const attempt = run(['a', null, one], ['b', null, one]);
    await expect(attempt).rejects.toThrow(RefLocked);
    await expect(attempt).rejects.toMatchObject({ ref: 'refs/threads/b', lockPath: at('b.lock') });
    expect(valueOf('a')).toBeUndefined();
    expect(leftovers()).toEqual(['refs/threads/b.lock']);
  });

  test('on packed-refs stops deletions only', async () => {
    set({ a: one });
    write('packed-refs.lock', '');
    expect(await run(['a', one, two], ['b', null, null])).toBe(true);
    await expect(run(['a', two, null])).rejects.toMatchObject({
      ref: 'packed-refs',
      lockPath: join(dir, 'packed-refs.lock'),
    });
    expect([valueOf('a'), leftovers()]).toEqual([two, ['packed-refs.lock']]);
  });

  test('is removed where that process has ended, also on a ref that is not changed', async () => {
    const name = `${formatIdentity({ ...ownIdentity(), startTime: '1' })}@0123456789abcdef@refs%2Fthreads%2Fold.lock`;
    write(`uwf/locks/${name}`, `${name}\n`);
    mkdirSync(at(''), { recursive: true });
    linkSync(join(dir, 'uwf/locks', name), at('old.lock'));
    await run(['a', null, one]);
    expect(leftovers()).toEqual([]);
  });
});

describe('a process whose lock was broken while it stood still', () => {
  test('has changed nothing, and is to begin again', async () => {
    set({ a: one });
    before('renameSync', (path) => path === at('a'), breakLocks);
    expect(await run(['a', one, two])).toBe(false);
    expect([valueOf('a'), leftovers()]).toEqual([one, []]);
  });

  test('is told so where it has changed another ref before', async () => {
    set({ a: one, b: one });
    before('renameSync', (path) => path === at('b'), breakLocks);
    await expect(run(['a', one, two], ['b', one, two])).rejects.toThrow(LockLost);
    expect([valueOf('a'), valueOf('b')]).toEqual([two, one]);
  });

  test('deletes nothing', async () => {
    set({ a: one });
    vi.spyOn(records, 'isTakenWith').mockReturnValueOnce(false);
    expect(await run(['a', one, null])).toBe(false);
    expect([valueOf('a'), leftovers()]).toEqual([one, []]);
  });

  test.each([
    ['packed value', 'a', (): void => pack({ a: one })],
    ['other ref', 'b', (): void => {}],
  ])('is told so where it has deleted the %s before', async (_, lost, arrange) => {
    arrange();
    set({ a: one, b: one });
    // The other process changes the ref between the last look at the lock and the deletion.
    const isIt = (path: string): boolean => path.endsWith(`refs%2Fthreads%2F${lost}`);
    before('renameSync', isIt, () => set({ [lost]: two }));
    const attempt = run(['a', one, null], ['b', one, null]);
    await expect(attempt).rejects.toThrow(LockLost);
    await expect(attempt).rejects.toMatchObject({ lockPath: at(`${lost}.lock`) });
    expect([valueOf(lost), leftovers()]).toEqual([two, []]);
  });

  test('puts back the value of the other process, and is to begin again where that was all', async () => {
    set({ a: one });
    before(
      'renameSync',
      (path) => path.endsWith('refs%2Fthreads%2Fa'),
      () => set({ a: two }),
    );
    expect(await run(['a', one, null])).toBe(false);
    expect([valueOf('a'), leftovers()]).toEqual([two, []]);
  });
});

describe('a deletion', () => {
  test('takes the reflog along; a folder of reflogs stays', async () => {
    set({ a: one, b: one });
    for (const path of ['logs/refs/threads/a', 'logs/refs/threads/b/c']) write(path, 'a log');
    await run(['a', one, null], ['b', one, null]);
    expect([at('a'), join(dir, 'logs/refs/threads/a')].map((path) => existsSync(path))).toEqual([false, false]);
    expect(existsSync(join(dir, 'logs/refs/threads/b/c'))).toBe(true);
  });

  test('of a ref of one work tree is made in its folder, without its log and empty folders', async () => {
    const own = 'refs/bisect/a/b/c';
    for (const path of ['', 'worktrees/w/']) write(`${path}logs/${own}`, 'a log');
    write(`worktrees/w/${own}`, `${one}\n`);
    mkdirSync(join(dir, 'refs/bisect/a/b'), { recursive: true });
    await run([own, one, null]);
    expect(readdirSync(join(location.gitDir, 'refs/bisect'))).toEqual([]);
    expect(existsSync(join(location.gitDir, 'logs', own))).toBe(false);
    // Those of the other work tree, of the same name, stay.
    expect(existsSync(join(dir, 'logs', own))).toBe(true);
    expect(existsSync(join(dir, 'refs/bisect/a/b'))).toBe(true);
  });

  test('of a packed ref keeps the permissions of the file', async () => {
    pack({ a: one, b: one });
    const { mode } = statSync(join(dir, 'packed-refs'));
    await run(['a', one, null]);
    expect(readFileSync(join(dir, 'packed-refs'), 'utf8')).toContain(`\n${one} refs/threads/b\n`);
    expect([valueOf('a'), statSync(join(dir, 'packed-refs')).mode]).toEqual([undefined, mode]);
  });

  test('works where the records are on another file system', async () => {
    set({ a: one, b: one });
    failFs('renameSync', { code: 'EXDEV', where: (path) => path.includes('/uwf/locks/') });
    expect(await run(['a', one, null])).toBe(true);
    expect(valueOf('a')).toBeUndefined();
    // Once something is deleted there too, a lost lock is an error.
    set({ a: one });
    const isTakenWith = records.isTakenWith.bind(records);
    vi.spyOn(records, 'isTakenWith').mockImplementation(
      (record, lock) => lock !== at('b.lock') && isTakenWith(record, lock),
    );
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(run(['a', one, null], ['b', one, null])).rejects.toThrow(LockLost);
    expect([valueOf('a'), valueOf('b')]).toEqual([undefined, one]);
  });

  test('that the disk refuses is an error, and the ref stays', async () => {
    set({ a: one });
    failFs('renameSync', { code: 'EIO', where: (path) => path.includes('/uwf/locks/') });
    await expect(run(['a', one, null])).rejects.toThrow('EIO');
    expect([valueOf('a'), leftovers()]).toEqual([one, []]);
  });
});

describe('a file or a folder in the way', () => {
  test.each(['b/c', 'b/c/d'])('of a lock, where another ref comes between: %s', async (name) => {
    before(
      'linkSync',
      (path) => path === at('a.lock'),
      () => set({ b: one }),
    );
    const attempt = run(['a', null, one], [name, null, one]);
    await expect(attempt).rejects.toThrow(RefNameConflict);
    await expect(attempt).rejects.toMatchObject({ ref: fullName(name), existing: dirname(fullName(name)) });
    expect([valueOf('a'), leftovers()]).toEqual([undefined, []]);
  });

  test('of a lock is made again where git removes it in the same moment', async () => {
    failFs('mkdirSync', { code: 'ENOENT', where: (path) => path === at('a'), times: 2 });
    expect(await run(['a/b', null, one])).toBe(true);
    failFs('mkdirSync', { code: 'EIO', where: (path) => path === at('c') });
    await expect(run(['c/d', null, one])).rejects.toThrow('EIO');
  });

  test('holds a ref that came after the last look: the new one is refused', async () => {
    before(
      'linkSync',
      (path) => path === at('a.lock'),
      () => write('refs/threads/a/file', ''),
    );
    await expect(run(['a', null, one])).rejects.toMatchObject({
      ref: 'refs/threads/a',
      existing: 'refs/threads/a/file',
    });
    // A lock is no ref, so only the folder tells.
    before(
      'linkSync',
      (path) => path === at('b.lock'),
      () => write('refs/threads/b/c.lock', ''),
    );
    await expect(run(['b', null, one])).rejects.toMatchObject({ ref: 'refs/threads/b', existing: 'refs/threads/b/' });
  });

  test.each(['EISDIR', 'ENOTEMPTY'])('is made as the ref gets its value: %s', async (code) => {
    failFs('renameSync', { code, where: (path) => path === at('a') });
    await expect(run(['a', null, one])).rejects.toMatchObject({ ref: 'refs/threads/a', existing: 'refs/threads/a/' });
    await expect(run(['a', null, one])).rejects.toThrow(RefNameConflict);
    failFs('renameSync', { code: 'EIO', where: (path) => path === at('b') });
    await expect(run(['b', null, one])).rejects.toThrow('EIO');
  });
});

test.each(['refs%2Fthreads%2Fb', 'packed-refs'])('a disk that is full changes nothing: %s', async (staged) => {
  pack({ a: one });
  failFs('openSync', { code: 'ENOSPC', where: (path) => path.includes('+@') && path.endsWith(`${staged}.lock`) });
  const attempt = run(['b', null, one], ['a', one, null]);
  await expect(attempt).rejects.toThrow(StorageFull);
  await expect(attempt).rejects.toMatchObject({ path: dir });
  expect([valueOf('a'), valueOf('b'), leftovers()]).toEqual([one, undefined, []]);
});

test('a lock that cannot be released keeps no other', async () => {
  pack({ a: one, b: one });
  failFs('unlinkSync', { code: 'EIO', where: (path) => path.endsWith('/packed-refs.lock'), times: 1 });
  failFs('renameSync', { code: 'EIO', where: (path) => path.endsWith('/packed-refs') });
  await expect(run(['a', one, null], ['b', one, null])).rejects.toThrow('EIO');
  expect([existsSync(`${at('a')}.lock`), existsSync(`${at('b')}.lock`)]).toEqual([false, false]);
});
