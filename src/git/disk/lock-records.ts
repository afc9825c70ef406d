import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, renameSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { join, relative } from 'node:path';
import { makeFolders } from '../make-folders.ts';
import { errnoOf } from '../object-errors.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../process-identity.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import { createDurableFile, removeFile } from './durable-file.ts';

/** Who holds a lock, as far as that is known. */
export type LockHolder = { owner: ProcessIdentity; isAlive: true | 'other-host' };

type Record = { path: string; owner: ProcessIdentity; lockPath: string | undefined; stats: BigIntStats };

/** Most file systems take names of at most 255 bytes. */
const longestName = 240;

/**
 * Records of who holds which lock, in `<common dir>/uwf/locks`.
 *
 * The record of a lock **is** the lock: one file with two names, the second one made by `link`, which fails if the lock
 * is held. So there is no moment in which a lock exists without saying whose it is. A record's name holds its owner and
 * the file that is locked: `<identity>@<random>@<path below the common dir>`.
 *
 * A process that was killed leaves its record; who finds it, claims it by renaming it to a name of its own (of several,
 * one succeeds), removes the lock if it still is the same file, and the record. Locks without a record are git's.
 */
export class LockRecords {
  readonly #commonDir: string;
  readonly #folder: string;

  constructor(commonDir: string) {
    this.#commonDir = commonDir;
    this.#folder = join(commonDir, 'uwf', 'locks');
  }

  /**
   * Makes a record of this process for a lock that is about to be taken.
   *
   * @param lockPath the lock that the record will be linked to
   * @param content what the locked file is to hold; on the disk when this returns
   */
  create(lockPath: string, content: string | Uint8Array, mode: number): string {
    const path = this.#ownPath(lockPath);
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    try {
      createDurableFile(path, [bytes], mode);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      makeFolders(this.#folder);
      createDurableFile(path, [bytes], mode);
    }
    return path;
  }

  /**
   * Removes a lock if the process that took it has ended, and otherwise says who holds it.
   *
   * `'gone'` if the lock is not there any more, `undefined` if it is not uwf's.
   */
  breakOrIdentify(lockPath: string): LockHolder | 'gone' | undefined {
    const lock = statOf(lockPath);
    if (lock === undefined) return 'gone';
    const record = this.#all().find(({ stats }) => isSameFile(stats, lock));
    if (record === undefined) return undefined;
    const alive = isAlive(record.owner);
    if (alive !== false) return { owner: record.owner, isAlive: alive };
    return this.#break(record, lockPath) ? 'gone' : undefined;
  }

  /** Removes what processes left that have ended: their locks, so that git is not blocked either, and their records. */
  sweep(): void {
    for (const record of this.#all()) {
      if (isAlive(record.owner) !== false) continue;
      if (record.stats.nlink === 1n) {
        // No lock is this file, and none can become it: its owner has ended.
        removeFile(record.path);
      } else if (record.lockPath !== undefined) {
        this.#break(record, record.lockPath);
      }
    }
  }

  #break(record: Record, lockPath: string): boolean {
    const claimed = this.#ownPath(lockPath);
    try {
      renameSync(record.path, claimed);
    } catch (error) {
      // Somebody else was faster.
      if (errnoOf(error) === 'ENOENT') return false;
      throw error;
    }
    const lock = statOf(lockPath);
    // Held by the record, the inode cannot have become another file's: the same inode is the dead process' lock.
    if (lock !== undefined && isSameFile(record.stats, lock)) removeFile(lockPath);
    removeFile(claimed);
    return true;
  }

  #ownPath(lockPath: string): string {
    const owner = `${formatIdentity(ownIdentity())}@${randomBytes(8).toString('hex')}@`;
    const target = encodeURIComponent(relative(this.#commonDir, lockPath));
    // Without its target a record is still found from the lock, only not swept.
    return join(this.#folder, owner.length + target.length > longestName ? owner : owner + target);
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
      records.push({ path, owner, lockPath, stats });
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

function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}
