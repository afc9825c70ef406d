import { randomBytes } from 'node:crypto';
import { constants, renameSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { orElse } from '../../../or-else.ts';
import { findOwnStats } from '../../system/find-stats.ts';
import { namesIn } from '../../system/names-in.ts';
import { makeFolders } from '../../system/make-folders.ts';
import { errnoOf } from '../../format/object-errors.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../../system/process-identity.ts';
import type { ProcessIdentity } from '../../system/process-identity.ts';
import { READ, readRegularFile } from '../../system/read-regular-file.ts';
import { createDurableFile, createFile, putBack, removeFile } from '../../system/durable-file.ts';

/**
 * How long a lock is valid if its owner cannot be checked from here: a process of another host or container. Locks are held
 * for moments. A lease of the same process runs out later, so that no process starts a paid turn and then meets the lock.
 */
export const LOCK_MS = 30_000;
/** A record without a lock belongs to a process that waits for a lock, or that has ended; it blocks nothing. */
const WAITING_MS = 10 * LOCK_MS;

/** The holder of a lock. */
export type LockHolder = { owner: ProcessIdentity; isAlive: boolean | 'other-host' };

type LockFile = { path: string; stats: BigIntStats };
/** The file that is renamed to claim a lock: its record, or the lock itself if there is no record. */
type Claimable = LockFile & { name: string; owner: ProcessIdentity };
type Record = Claimable & { lockPath: string | undefined };

/** Most file systems limit names to 255 bytes. */
const MAX_NAME_BYTES = 240;
/** The content of a record is its own name, which is shorter than this. */
const MAX_RECORD_BYTES = 512;
const contentMark = '+';

/**
 * Records of the holders of locks, in `<common dir>/uwf/locks`.
 *
 * The record of a lock **is** the lock: one file with two names, the second made by `link`, which fails if the lock is held.
 * So a lock never exists without naming its owner. The name of a record holds its owner and the locked file:
 * `<identity>@<random>@<path below the common dir>`. Its content is its name, which identifies the lock where there are no
 * hard links. The new content of the locked file is staged beside it, as `<identity>@<random>+@<path>`.
 *
 * A lock lapses when its owner has ended. If the owner cannot be checked from here, it lapses when its record is older than
 * {@link LOCK_MS} by the clock of the file system (a process that waits for a lock renews its record). Breaking a lock has
 * three steps, in this order: remove the staged content, without which the owner can no longer change the file; claim the
 * record by renaming it (of several processes one succeeds); remove the lock if it is still the same. An owner that was only
 * asleep finds that it has lost, because changing the file means renaming its staged content.
 *
 * One race remains: an owner in another container that sleeps for longer than that between checking that a lock is its own
 * and removing it, two adjacent calls, can remove the lock of another process. That process checks its lock too before it
 * changes the file. A lock without a record or a content of uwf belongs to git and is never broken.
 */
export class LockRecords {
  readonly #commonDir: string;
  readonly #folder: string;

  constructor(commonDir: string) {
    this.#commonDir = commonDir;
    this.#folder = join(commonDir, 'uwf', 'locks');
  }

  /** Makes a record of this process for a lock that it will take, and returns its path. */
  create(lockPath: string): string {
    const path = this.ownPath(lockPath);
    this.restore(path);
    return path;
  }

  /** Makes a removed record again. */
  restore(path: string): void {
    this.#inFolder(() => createFile(path, `${basename(path)}\n`));
  }

  /** The path of the staged content of the locked file. */
  contentPath(recordPath: string): string {
    return join(this.#folder, contentName(basename(recordPath)));
  }

  /** Stages the new content of the locked file; durable when it returns. */
  stage(recordPath: string, content: string | Uint8Array, mode: number): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    this.#inFolder(() => createDurableFile(this.contentPath(recordPath), [bytes], mode));
  }

  /** Tells whether a lock was taken with this record. */
  isTakenWith(recordPath: string, lockPath: string): boolean {
    const [record, lock] = [lockFile(recordPath), lockFile(lockPath)];
    return record !== undefined && lock !== undefined && isLockOf(record, lock);
  }

  /**
   * Removes a lapsed lock, or returns the holder of a valid one.
   *
   * `'gone'` if there is no lock any more, `undefined` if it is not a lock of uwf.
   */
  breakOrIdentify(lockPath: string): LockHolder | 'gone' | undefined {
    const lock = findOwnStats(lockPath);
    if (lock === undefined) return 'gone';
    const record = this.#recordOf(lockPath, lock);
    if (record === undefined) return undefined;
    const alive = isAlive(record.owner);
    if (alive === true || (alive === 'other-host' && !this.#isOlder(lock, LOCK_MS))) {
      return { owner: record.owner, isAlive: alive };
    }
    return this.#break(record, lockPath) ? 'gone' : undefined;
  }

  /** Returns the holder of a lock and changes nothing; `undefined` if it is not a lock of uwf. */
  identify(lockPath: string): LockHolder | undefined {
    const lock = findOwnStats(lockPath);
    const record = lock && this.#recordOf(lockPath, lock);
    return record && { owner: record.owner, isAlive: isAlive(record.owner) };
  }

  /** Removes the locks and records of ended processes, so that git is not blocked either. */
  sweep(): void {
    for (const record of this.#all()) {
      const alive = isAlive(record.owner);
      const { stats, lockPath, path } = record;
      const lock = lockPath === undefined ? undefined : lockFile(lockPath);
      const isHeld = lock !== undefined && isLockOf(record, lock);
      if (alive === true || (alive === 'other-host' && !this.#isOlder(stats, isHeld ? LOCK_MS : WAITING_MS))) continue;
      // A second name that is not known is a lock too: it is broken when it is met.
      if (isHeld && lockPath !== undefined) this.#break(record, lockPath);
      else if (lockPath !== undefined || stats.nlink === 1n) removeFile(path);
    }
  }

  /** A path in the folder of records that only this process uses, and that is removed after its end. */
  ownPath(lockPath: string): string {
    const owner = `${formatIdentity(ownIdentity())}@${randomBytes(8).toString('hex')}@`;
    const target = encodeURIComponent(relative(this.#commonDir, lockPath));
    // A record without its target is found from the lock, but not swept.
    return join(this.#folder, owner.length + target.length >= MAX_NAME_BYTES ? owner : owner + target);
  }

  #recordOf(lockPath: string, lock: BigIntStats): Claimable | undefined {
    const known = this.#all().find((record) => isLockOf(record, { path: lockPath, stats: lock }));
    if (known !== undefined) return known;
    // The record was removed with the rest of `<common dir>/uwf`; the lock holds the same content.
    const name = contentOf(lockPath).trimEnd();
    const owner = parseIdentity(name.split('@')[0] ?? '');
    if (owner === undefined || name !== basename(name)) return undefined;
    return { path: lockPath, name, owner, stats: lock };
  }

  #break(record: Claimable, lockPath: string): boolean {
    // From here on the owner can no longer change the file.
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
    if (record.path === lockPath && contentOf(claimed) !== `${record.name}\n`) {
      // Another process has broken the lock, and a third one has taken it.
      putBack(claimed, lockPath);
      return false;
    }
    const lock = lockFile(lockPath);
    // While the claim holds the inode or the name, no other lock can have it, so an equal lock is the lapsed one.
    if (lock !== undefined && isLockOf(taken, lock)) removeFile(lockPath);
    removeFile(claimed);
    return true;
  }

  /** By the clock of the file system, because the clocks of the hosts that share it differ. */
  #isOlder({ mtimeMs }: BigIntStats, thanMs: number): boolean {
    const probe = this.ownPath('');
    this.#inFolder(() => createFile(probe, ''));
    const nowMs = findOwnStats(probe)?.mtimeMs;
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
    for (const name of namesIn(this.#folder)) {
      const [identity = '', , target = ''] = name.split('@');
      const owner = parseIdentity(identity);
      if (owner === undefined) continue;
      const path = join(this.#folder, name);
      const stats = findOwnStats(path);
      // Its process has removed it since.
      if (stats === undefined) continue;
      const lockPath = target === '' ? undefined : join(this.#commonDir, decodeURIComponent(target));
      records.push({ path, name, owner, lockPath, stats });
    }
    return records;
  }
}

function lockFile(path: string): LockFile | undefined {
  const stats = findOwnStats(path);
  return stats && { path, stats };
}

/**
 * Tells whether a lock belongs to a record or a claim: it is the same file, or, without hard links, has the same content.
 */
function isLockOf(record: LockFile, lock: LockFile): boolean {
  if (record.stats.ino === lock.stats.ino && record.stats.dev === lock.stats.dev) return true;
  const said = contentOf(lock.path);
  return said.includes('@') && said === contentOf(record.path);
}

/** The content of a small file; empty for a large or unreadable file. */
function contentOf(path: string): string {
  return orElse(() => readRegularFile(path, MAX_RECORD_BYTES, READ | constants.O_NOFOLLOW).toString('latin1'), '');
}

function contentName(recordName: string): string {
  const [identity = '', random = '', ...target] = recordName.split('@');
  return [identity, random + contentMark, ...target].join('@');
}
