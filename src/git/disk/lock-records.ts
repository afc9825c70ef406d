import { randomBytes } from 'node:crypto';
import { constants, lstatSync, readdirSync, renameSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { makeFolders } from '../make-folders.ts';
import { errnoOf } from '../object-errors.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../process-identity.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import { READ, readRegularFile } from '../read-regular-file.ts';
import { createDurableFile, createFile, putBack, removeFile } from './durable-file.ts';

/**
 * How long a lock counts whose owner cannot be seen from here: a process of another host, or of another container. Locks are
 * held for moments. A lease that the same process held runs out later, so that nothing meets the lock and pays for a turn.
 */
export const LOCK_MS = 30_000;
/** A record without a lock is of a process that waits for one, or of one that is gone; it blocks nothing. */
const WAITING_MS = 10 * LOCK_MS;

/** Who holds a lock, as far as that is known. */
export type LockHolder = { owner: ProcessIdentity; isAlive: true | 'other-host' };

type LockFile = { path: string; stats: BigIntStats };
/** What is renamed to claim a lock: its record, or the lock itself where that is gone. */
type Claimable = LockFile & { name: string; owner: ProcessIdentity };
type Record = Claimable & { lockPath: string | undefined };

/** Most file systems take names of at most 255 bytes. */
const longestName = 240;
/** What a record says is its own name, in fewer bytes than this. */
const longestRecord = 512;
const contentMark = '+';

/**
 * Records of who holds which lock, in `<common dir>/uwf/locks`.
 *
 * The record of a lock **is** the lock: one file with two names, the second one made by `link`, which fails if the lock
 * is held. So there is no moment in which a lock exists without saying whose it is. A record's name holds its owner and
 * the file that is locked: `<identity>@<random>@<path below the common dir>`; its content is its name, by which the lock is
 * known where there are no hard links. What the locked file is to become lies beside it, as `<identity>@<random>+@<path>`.
 *
 * A lock lapses when its owner has ended, or cannot be seen from here and has made its record {@link LOCK_MS} ago, by the clock
 * of the file system (a process that waits for a lock makes its record anew before). To break it is, in this order, to remove the content, without which its owner can no longer change the file; to
 * claim the record by renaming it (of several processes one succeeds); and to remove the lock if it still is the same. So an
 * owner that was only asleep finds that it has lost: to change the file it has to rename its own content.
 *
 * What remains: an owner in another container that sleeps for longer than that between looking whether a lock is still its
 * own and removing it, two calls that follow each other, may remove that of another process. That one looks, too, before it
 * changes the file. Locks that no record and no content says are uwf's are git's, and never broken.
 */
export class LockRecords {
  readonly #commonDir: string;
  readonly #folder: string;

  constructor(commonDir: string) {
    this.#commonDir = commonDir;
    this.#folder = join(commonDir, 'uwf', 'locks');
  }

  /** Makes a record of this process for a lock that is about to be taken, and gives its path. */
  create(lockPath: string): string {
    const path = this.ownPath(lockPath);
    this.restore(path);
    return path;
  }

  /** Makes a record anew that was removed. */
  restore(path: string): void {
    this.#inFolder(() => createFile(path, `${basename(path)}\n`));
  }

  /** Where the content lies that is to replace the locked file. */
  contentPath(recordPath: string): string {
    return join(this.#folder, contentName(basename(recordPath)));
  }

  /** Writes what is to replace the locked file; on the disk when this returns. */
  stage(recordPath: string, content: string | Uint8Array, mode: number): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    this.#inFolder(() => createDurableFile(this.contentPath(recordPath), [bytes], mode));
  }

  /** Tells whether a lock is the one that was taken with a record. */
  isTakenWith(recordPath: string, lockPath: string): boolean {
    const [record, lock] = [lockFile(recordPath), lockFile(lockPath)];
    return record !== undefined && lock !== undefined && isLockOf(record, lock);
  }

  /**
   * Removes a lock that has lapsed, and otherwise says who holds it.
   *
   * `'gone'` if the lock is not there any more, `undefined` if it is not uwf's.
   */
  breakOrIdentify(lockPath: string): LockHolder | 'gone' | undefined {
    const lock = statOf(lockPath);
    if (lock === undefined) return 'gone';
    const record = this.#recordOf(lockPath, lock);
    if (record === undefined) return undefined;
    const alive = isAlive(record.owner);
    if (alive === true || (alive === 'other-host' && !this.#isOlder(lock, LOCK_MS))) {
      return { owner: record.owner, isAlive: alive };
    }
    return this.#break(record, lockPath) ? 'gone' : undefined;
  }

  /** Says who holds a lock and whether it is there still, and changes nothing; `undefined` if it is not uwf's. */
  identify(lockPath: string): { owner: ProcessIdentity; isAlive: boolean | 'other-host' } | undefined {
    const lock = statOf(lockPath);
    const record = lock && this.#recordOf(lockPath, lock);
    return record && { owner: record.owner, isAlive: isAlive(record.owner) };
  }

  /** Removes what processes left that have ended: their locks, so that git is not blocked either, and their records. */
  sweep(): void {
    for (const record of this.#all()) {
      const alive = isAlive(record.owner);
      const { stats, lockPath, path } = record;
      const lock = lockPath === undefined ? undefined : lockFile(lockPath);
      const isHeld = lock !== undefined && isLockOf(record, lock);
      if (alive === true || (alive === 'other-host' && !this.#isOlder(stats, isHeld ? LOCK_MS : WAITING_MS))) continue;
      // A second name that is not known is a lock, too: it is broken when it is met.
      if (isHeld && lockPath !== undefined) this.#break(record, lockPath);
      else if (lockPath !== undefined || stats.nlink === 1n) removeFile(path);
    }
  }

  /** A path in the folder of records that no other process uses, and that is cleaned up after this one. */
  ownPath(lockPath: string): string {
    const owner = `${formatIdentity(ownIdentity())}@${randomBytes(8).toString('hex')}@`;
    const target = encodeURIComponent(relative(this.#commonDir, lockPath));
    // Without its target a record is still found from the lock, only not swept.
    return join(this.#folder, owner.length + target.length >= longestName ? owner : owner + target);
  }

  #recordOf(lockPath: string, lock: BigIntStats): Claimable | undefined {
    const known = this.#all().find((record) => isLockOf(record, { path: lockPath, stats: lock }));
    if (known !== undefined) return known;
    // Its record was removed with the rest of `<common dir>/uwf`; what it said is known from the lock.
    const name = contentOf(lockPath, lock).trimEnd();
    const owner = parseIdentity(name.split('@')[0] ?? '');
    if (owner === undefined || name !== basename(name)) return undefined;
    return { path: lockPath, name, owner, stats: lock };
  }

  #break(record: Claimable, lockPath: string): boolean {
    // From here on its owner cannot change the file any more.
    removeFile(this.contentPath(record.name));
    const claimed = this.ownPath(lockPath);
    try {
      renameSync(record.path, claimed);
    } catch (error) {
      // Another process was faster.
      if (errnoOf(error) === 'ENOENT') return false;
      throw error;
    }
    const taken = { path: claimed, stats: record.stats };
    if (record.path === lockPath && contentOf(claimed, record.stats) !== `${record.name}\n`) {
      // Another process has broken it since, and a third one taken it.
      putBack(claimed, lockPath);
      return false;
    }
    const lock = lockFile(lockPath);
    // While the claim holds its inode or its name, no other lock can have it: the same is the lock that has lapsed.
    if (lock !== undefined && isLockOf(taken, lock)) removeFile(lockPath);
    removeFile(claimed);
    return true;
  }

  /** By the clock of the file system: those of hosts that share it differ. */
  #isOlder({ mtimeMs }: BigIntStats, thanMs: number): boolean {
    const probe = this.ownPath('');
    this.#inFolder(() => createFile(probe, ''));
    const nowMs = statOf(probe)?.mtimeMs;
    removeFile(probe);
    return nowMs !== undefined && nowMs - mtimeMs > BigInt(thanMs);
  }

  #inFolder(create: () => void): void {
    try {
      create();
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      makeFolders(this.#folder);
      create();
    }
  }

  #all(): Record[] {
    const records: Record[] = [];
    for (const name of this.#names()) {
      const [identity = '', , target = ''] = name.split('@');
      const owner = parseIdentity(identity);
      const path = join(this.#folder, name);
      const stats = owner === undefined ? undefined : statOf(path);
      if (owner === undefined || stats === undefined) continue;
      const lockPath = target === '' ? undefined : join(this.#commonDir, decodeURIComponent(target));
      records.push({ path, name, owner, lockPath, stats });
    }
    return records;
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  }
}

function statOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

function lockFile(path: string): LockFile | undefined {
  const stats = statOf(path);
  return stats && { path, stats };
}

/**
 * Tells whether a lock is that of a record, or of one that was claimed: the same file, or where there are no hard links one
 * that says the same.
 */
function isLockOf(record: LockFile, lock: LockFile): boolean {
  if (record.stats.ino === lock.stats.ino && record.stats.dev === lock.stats.dev) return true;
  const said = contentOf(lock.path, lock.stats);
  return said.includes('@') && said === contentOf(record.path, record.stats);
}

/** What a small file says; empty for one that is large, or that cannot be read. */
function contentOf(path: string, { size }: BigIntStats): string {
  if (size === 0n || size > longestRecord) return '';
  try {
    return readRegularFile(path, longestRecord, READ | constants.O_NOFOLLOW).toString('latin1');
  } catch {
    return '';
  }
}

function contentName(recordName: string): string {
  const [identity = '', random = '', ...target] = recordName.split('@');
  return [identity, random + contentMark, ...target].join('@');
}
