import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { RefLocked } from '../../../../src/git/format/ref-errors.ts';
import { FileLock, LockLost } from '../../../../src/git/stores/disk/file-lock.ts';
import { LOCK_MS, LockRecords } from '../../../../src/git/stores/disk/lock-records.ts';
import { formatIdentity, ownIdentity, type ProcessIdentity } from '../../../../src/git/system/process-identity.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

/** Of its pid, a process runs that started at another time. */
const ended: ProcessIdentity = { ...ownIdentity(), startTime: '1' };
const elsewhere: ProcessIdentity = { host: 'elsewhere', bootId: 'abc', pidNamespace: '', pid: 7, startTime: '5' };

let dir: string;
let path: string;
let lockPath: string;
let records: LockRecords;

beforeEach(() => {
  dir = createTemporaryFolder();
  mkdirSync(join(dir, 'refs'));
  path = join(dir, 'refs', 'one');
  lockPath = `${path}.lock`;
  records = new LockRecords(dir);
});

const createLock = (): FileLock => new FileLock({ path, name: 'refs/one' }, records);
const recordNames = (): string[] => readdirSync(join(dir, 'uwf', 'locks'));
const recordPath = (name: string): string => join(dir, 'uwf', 'locks', name);

async function take(lock: FileLock, content?: string): Promise<FileLock> {
  if (content !== undefined) lock.stage(content, 0o666);
  await lock.acquire(0, () => {});
  return lock;
}

/** What another process left: a record, the content that it staged, and, if it holds it, the lock. */
function leave(owner: ProcessIdentity, { ageMs = 0, isHeld = true, target = 'refs%2Fone.lock' } = {}): string {
  mkdirSync(join(dir, 'uwf', 'locks'), { recursive: true });
  const name = `${formatIdentity(owner)}@0123456789abcdef@${target}`;
  writeFileSync(recordPath(name), `${name}\n`);
  writeFileSync(recordPath(name.replace('cdef@', 'cdef+@')), 'its content');
  if (isHeld) linkSync(recordPath(name), lockPath);
  age(recordPath(name), ageMs);
  return name;
}

function age(file: string, ageMs: number): void {
  const at = (Date.now() - ageMs) / 1000;
  utimesSync(file, at, at);
}

describe('a lock', () => {
  test('changes its file in one step, and leaves nothing behind', async () => {
    const lock = await take(createLock(), 'new');
    expect(existsSync(lockPath)).toBe(true);
    expect(existsSync(path)).toBe(false);
    lock.commit();
    expect(readFileSync(path, 'utf8')).toBe('new');
    lock.release();
    expect(readdirSync(join(dir, 'refs'))).toEqual(['one']);
    expect(recordNames()).toEqual([]);
  });

  test('that is released without a change leaves nothing behind either', async () => {
    (await take(createLock(), 'new')).release();
    expect(readdirSync(join(dir, 'refs'))).toEqual([]);
    expect(recordNames()).toEqual([]);
  });

  test('is held by one; the error names the process and how long it was waited for', async () => {
    const held = await take(createLock());
    const second = createLock();
    const error = await take(second).catch((raised: unknown) => raised);
    expect(error).toBeInstanceOf(RefLocked);
    expect(error).toMatchObject({
      ref: 'refs/one',
      lockPath,
      holder: `process ${process.pid} on this host`,
      waitedMs: 0,
    });
    second.release();
    expect(existsSync(lockPath)).toBe(true);
    held.release();
    (await take(createLock())).release();
  });

  test('is waited for', async () => {
    const held = await take(createLock());
    const second = createLock();
    setTimeout(() => held.release(), 30);
    await second.acquire(10_000, () => {});
    expect(() => second.assertHeld()).not.toThrow();
    second.release();
  });

  test('that is waited for keeps the record of the waiting process young', async () => {
    const held = await take(createLock());
    const waiting = createLock();
    const restore = vi.spyOn(records, 'restore');
    const times = [0, 0, LOCK_MS / 4, LOCK_MS / 4 + 1, LOCK_MS / 4 + 2, LOCK_MS / 2 + 2];
    vi.spyOn(performance, 'now').mockImplementation(() => times.shift() ?? LOCK_MS);
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(waiting.acquire(LOCK_MS, () => {})).rejects.toThrow(RefLocked);
    // After a quarter of the time in which it lapses, and again after another.
    expect(restore).toHaveBeenCalledTimes(2);
    waiting.release();
    held.release();
    expect(recordNames()).toEqual([]);
  });

  test('that cannot be made for another reason is an error', async () => {
    failFs('linkSync', { code: 'EACCES' });
    const lock = createLock();
    await expect(take(lock)).rejects.toThrow('EACCES');
    lock.release();
  });

  test('is an error where its file cannot be changed, which is not taken for a lost lock', async () => {
    for (const code of ['EIO', 'ENOENT']) {
      failFs('renameSync', { code, where: (at) => at === path, times: 1 });
      const lock = await take(createLock(), 'new');
      expect(() => lock.commit()).toThrow(`${code}: renameSync`);
      lock.release();
    }
    expect(existsSync(path)).toBe(false);
  });

  test('of git is waited for and never broken', async () => {
    writeFileSync(lockPath, '');
    const lock = createLock();
    await expect(take(lock)).rejects.toMatchObject({ holder: undefined });
    lock.release();
    expect(readFileSync(lockPath, 'utf8')).toBe('');
  });

  test('that was never taken protects nothing', () => {
    const lock = createLock();
    lock.stage('new', 0o666);
    expect(() => lock.commit()).toThrow(LockLost);
    expect(() => lock.commit()).toThrow(
      expect.objectContaining({
        code: 'lock-lost',
        kind: 'conflict',
        hint: 'look at it again and repeat',
        lockPath,
      }),
    );
    expect(() => lock.assertHeld()).toThrow(`the lock on refs/one lapsed while this process stood still (${lockPath})`);
    lock.release();
    expect(existsSync(path)).toBe(false);
  });
});

describe('the lock of a process that has ended', () => {
  test.each([0, LOCK_MS])('is broken at once, whatever its age: %d ms', async (ageMs) => {
    leave(ended, { ageMs });
    const lock = await take(createLock(), 'new');
    lock.commit();
    lock.release();
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(recordNames()).toEqual([]);
  });

  test('is broken although its record is gone, as the lock says the same', async () => {
    rmSync(recordPath(leave(ended)));
    (await take(createLock())).release();
    expect(recordNames()).toEqual([]);
  });

  test('is another file than one of a user that only begins like a record', () => {
    createLock();
    writeFileSync(lockPath, `${formatIdentity(ended)}@../x\n`);
    expect(records.breakOrIdentify(lockPath)).toBeUndefined();
    expect(existsSync(lockPath)).toBe(true);
    expect(records.breakOrIdentify(join(dir, 'none.lock'))).toBe('gone');
  });

  test('is left to another process that is faster', () => {
    leave(ended);
    failFs('renameSync', { code: 'ENOENT' });
    expect(records.breakOrIdentify(lockPath)).toBeUndefined();
    expect(existsSync(lockPath)).toBe(true);
  });
});

describe('a lock that another process takes while this one breaks the old one', () => {
  test('stays where the old one had a record', () => {
    leave(ended);
    failFs('renameSync', {
      code: 'never',
      where: () => (rmSync(lockPath), writeFileSync(lockPath, 'new'), false),
    });
    expect(records.breakOrIdentify(lockPath)).toBe('gone');
    expect(readFileSync(lockPath, 'utf8')).toBe('new');
  });

  test('is put back where the lock itself was claimed', () => {
    rmSync(recordPath(leave(ended)));
    failFs('renameSync', { code: 'never', where: () => (writeFileSync(lockPath, 'new'), false) });
    expect(records.breakOrIdentify(lockPath)).toBeUndefined();
    expect(readFileSync(lockPath, 'utf8')).toBe('new');
    expect(recordNames().filter((name) => !name.includes('+'))).toEqual([]);
  });
});

describe('records that cannot be read or written', () => {
  test('are an error', () => {
    leave(ended);
    failFs('renameSync', { code: 'EIO' });
    expect(() => records.breakOrIdentify(lockPath)).toThrow('EIO');
    failFs('openSync', { code: 'EACCES' });
    expect(() => records.create(lockPath)).toThrow('EACCES');
    failFs('readdirSync', { code: 'EIO' });
    expect(() => records.sweep()).toThrow('EIO');
  });

  test('of which a power cut left nothing are not those of a lock of git', () => {
    const name = leave(ended, { isHeld: false });
    writeFileSync(recordPath(name), '');
    writeFileSync(lockPath, '');
    expect(records.identify(lockPath)).toBeUndefined();
    rmSync(lockPath);
    // The lock is the same file, so that its content does not matter.
    linkSync(recordPath(name), lockPath);
    expect(records.breakOrIdentify(lockPath)).toBe('gone');
    expect([existsSync(lockPath), recordNames()]).toEqual([false, []]);
  });

  test('are not those of a lock of git, which may hold much', () => {
    leave(ended, { isHeld: false });
    writeFileSync(lockPath, '@'.repeat(100_000));
    expect(records.breakOrIdentify(lockPath)).toBeUndefined();
    records.sweep();
    expect(existsSync(lockPath)).toBe(true);
  });
});

describe('the lock of a process on another host', () => {
  test('is valid for a while', async () => {
    leave(elsewhere, { ageMs: LOCK_MS - 5000 });
    const lock = createLock();
    await expect(take(lock)).rejects.toMatchObject({ holder: 'process 7 on elsewhere' });
    lock.release();
    expect(records.identify(lockPath)).toEqual({ owner: elsewhere, isAlive: 'other-host' });
  });

  test('lapses, and then its staged content is gone, so that it cannot be put in place', async () => {
    const name = leave(elsewhere, { ageMs: LOCK_MS + 1000 });
    const lock = await take(createLock());
    expect(recordNames()).not.toContain(name);
    expect(recordNames().filter((other) => other.includes('+'))).toEqual([]);
    lock.release();
  });
});

describe('a lock that was broken', () => {
  test('changes nothing, and is not released with the lock of the next owner', async () => {
    const lock = await take(createLock(), 'late');
    const [record] = recordNames().filter((name) => !name.includes('+'));
    rmSync(recordPath(String(record)));
    rmSync(lockPath);
    const next = await take(createLock(), 'next');
    expect(() => lock.commit()).toThrow(LockLost);
    lock.release();
    next.commit();
    next.release();
    expect(readFileSync(path, 'utf8')).toBe('next');
  });

  test('between the last look and the change changes nothing', async () => {
    const lock = await take(createLock(), 'late');
    for (const name of recordNames()) if (name.includes('+')) rmSync(recordPath(name));
    expect(() => lock.commit()).toThrow(LockLost);
    expect(existsSync(path)).toBe(false);
    lock.release();
  });
});

describe('where the records are on another file system', () => {
  const contentOf = (): string => recordPath(String(recordNames().find((name) => name.includes('+'))));

  test('the content is copied beside the file', async () => {
    failFs('renameSync', { code: 'EXDEV', where: (at) => at === path, times: 1 });
    const lock = await take(createLock(), 'new');
    lock.commit();
    lock.release();
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readdirSync(join(dir, 'refs'))).toEqual(['one']);
    expect(recordNames()).toEqual([]);
  });

  test('the content is not used once another process has broken the lock', async () => {
    const lock = await take(createLock(), 'new');
    const content = contentOf();
    failFs('renameSync', { code: 'EXDEV', where: (at) => (rmSync(content), at === path), times: 1 });
    expect(() => lock.commit()).toThrow(LockLost);
    expect(readdirSync(join(dir, 'refs'))).toEqual(['one.lock']);
  });

  test('the copy is removed where it cannot be put in place', async () => {
    const lock = await take(createLock(), 'new');
    failFs('renameSync', { code: 'EIO', where: (at) => at === path, times: 1 });
    failFs('renameSync', { code: 'EXDEV', where: (at) => at === path, times: 1 });
    expect(() => lock.commit()).toThrow('EIO');
    expect(readdirSync(join(dir, 'refs'))).toEqual(['one.lock']);
  });

  test('a lock without new content has nothing to copy', async () => {
    const lock = await take(createLock());
    failFs('renameSync', { code: 'EXDEV', where: (at) => at === path, times: 1 });
    expect(() => lock.commit()).toThrow('EXDEV');
  });
});

describe('without hard links', () => {
  beforeEach(() => failFs('linkSync', { code: 'EPERM' }));

  test('a lock names its record, is held by one, and changes its file', async () => {
    const lock = await take(createLock(), 'new');
    expect(recordNames()).toContain(readFileSync(lockPath, 'utf8').trimEnd());
    const second = createLock();
    await expect(take(second)).rejects.toMatchObject({ holder: `process ${process.pid} on this host` });
    second.release();
    lock.commit();
    lock.release();
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readdirSync(join(dir, 'refs'))).toEqual(['one']);
  });

  test('a lock whose folder was removed is made in a new one', async () => {
    rmSync(join(dir, 'refs'), { recursive: true });
    const lock = createLock();
    let made = 0;
    await lock.acquire(0, () => ((made += 1), made > 1 && mkdirSync(join(dir, 'refs'))));
    expect(existsSync(lockPath)).toBe(true);
    lock.release();
  });

  test('a folder that does not stay is made a hundred times, not for ever', async () => {
    rmSync(join(dir, 'refs'), { recursive: true });
    const lock = createLock();
    await expect(lock.acquire(0, () => {})).rejects.toThrow('does not stay');
    lock.release();
  });

  test('a lock that cannot be written is an error', async () => {
    failFs('openSync', { code: 'EACCES', where: (at) => at === lockPath });
    const lock = createLock();
    await expect(take(lock)).rejects.toThrow('EACCES');
    lock.release();
  });

  test('the lock of a process that has ended is broken', async () => {
    const name = leave(ended, { isHeld: false });
    writeFileSync(lockPath, `${name}\n`);
    (await take(createLock())).release();
    expect(existsSync(lockPath)).toBe(false);
    expect(recordNames()).toEqual([]);
  });
});

describe('a folder that is removed meanwhile', () => {
  test('is made again: that of the file', async () => {
    const lock = createLock();
    let made = 0;
    rmSync(join(dir, 'refs'), { recursive: true });
    await lock.acquire(0, () => {
      made += 1;
      // The first time git removes it in the same moment.
      if (made > 1) mkdirSync(join(dir, 'refs'));
    });
    expect(made).toBe(2);
    lock.release();
  });

  test('is made a hundred times, not for ever', async () => {
    rmSync(join(dir, 'refs'), { recursive: true });
    let made = 0;
    const lock = createLock();
    await expect(lock.acquire(0, () => void (made += 1))).rejects.toThrow(`the folder of ${lockPath} does not stay`);
    expect(made).toBe(101);
    lock.release();
  });

  test('is made again: that of the records, with the record and the content', async () => {
    const lock = createLock();
    lock.stage('new', 0o666);
    rmSync(join(dir, 'uwf'), { recursive: true });
    await lock.acquire(0, () => {});
    lock.commit();
    lock.release();
    expect(readFileSync(path, 'utf8')).toBe('new');
  });

  test.each(['new', undefined])('is made again where only the record is gone: with the content %s', async (content) => {
    const lock = createLock();
    if (content !== undefined) lock.stage(content, 0o666);
    for (const name of recordNames()) if (!name.includes('+')) rmSync(recordPath(name));
    await lock.acquire(0, () => {});
    expect(() => lock.assertHeld()).not.toThrow();
    expect(recordNames()).toHaveLength(content === undefined ? 1 : 2);
    lock.release();
    expect(recordNames()).toEqual([]);
  });
});

describe('a sweep', () => {
  test('removes what processes left that have ended, and nothing of others', () => {
    leave(ended);
    const mine = createLock();
    const kept = leave(elsewhere, { isHeld: false, target: 'refs%2Fother.lock', ageMs: LOCK_MS + 1000 });
    writeFileSync(recordPath('no-record'), '');
    records.sweep();
    expect(existsSync(lockPath)).toBe(false);
    const left = recordNames();
    expect(left).toContain(kept);
    expect(left).toContain('no-record');
    expect(left.filter((name) => name.startsWith(formatIdentity(ended)))).toEqual([]);
    expect(left.filter((name) => name.startsWith(formatIdentity(ownIdentity())))).toHaveLength(1);
    mine.release();
  });

  test('removes the record of a waiting process of another host after five minutes', () => {
    const name = leave(elsewhere, { isHeld: false, ageMs: 10 * LOCK_MS - 5000 });
    records.sweep();
    expect(recordNames()).toContain(name);
    age(recordPath(name), 10 * LOCK_MS + 1000);
    records.sweep();
    expect(recordNames()).not.toContain(name);
  });

  test('breaks the lock of another host once it has lapsed', () => {
    leave(elsewhere, { ageMs: LOCK_MS + 1000 });
    records.sweep();
    expect(existsSync(lockPath)).toBe(false);
  });

  test('leaves a record whose lock it does not know, as long as there is one', () => {
    const name = leave(ended, { target: '' });
    records.sweep();
    expect(recordNames()).toContain(name);
    rmSync(lockPath);
    records.sweep();
    expect(recordNames()).not.toContain(name);
  });

  test('finds nothing where there are no records', () => {
    expect(() => records.sweep()).not.toThrow();
    expect(existsSync(join(dir, 'uwf'))).toBe(false);
  });
});

test('a record names its process and the file that it locks', () => {
  const record = records.create(lockPath);
  expect(record.slice(join(dir, 'uwf', 'locks').length + 1)).toMatch(/^[^@]+@[0-9a-f]{16}@refs%2Fone\.lock$/);
  expect(record).toContain(formatIdentity(ownIdentity()));
});

test('a record of a file with a long name is no longer than file systems allow', () => {
  const long = join(dir, 'refs', 'é'.repeat(100));
  const record = records.create(`${long}.lock`);
  expect(Buffer.byteLength(record.slice(join(dir, 'uwf', 'locks').length + 1))).toBeLessThan(240);
  expect(readFileSync(record, 'utf8')).toMatch(/@[0-9a-f]{16}@\n$/);
});
