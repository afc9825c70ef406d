import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, renameSync, unlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UwfError } from '../../../errors.ts';
import { isWithoutHardLinks } from '../../system/durable-file.ts';
import { errnoOf } from '../../format/object-errors.ts';
import { RefLocked } from '../../format/ref-errors.ts';
import { createDurableFile, createFile, removeFile } from '../../system/durable-file.ts';
import { LOCK_MS, type LockHolder, type LockRecords } from './lock-records.ts';

const MAX_PAUSE_MS = 50;
/** How often the folder of a lock is made again after git has removed it because it is empty. */
const MAX_FOLDERS = 100;

/** The file that a lock protects. */
export type LockTarget = {
  /** The file that is locked; the lock is `<path>.lock`. */
  path: string;
  /** The ref's name, or `packed-refs`, for the error. */
  name: string;
};

/** The lock lapsed while this process stood still, and another process has broken it. */
export class LockLost extends UwfError {
  constructor(name: string, lockPath: string) {
    super(`the lock on ${name} lapsed while this process stood still (${lockPath})`, {
      code: 'lock-lost',
      kind: 'conflict',
      hint: 'look at it again and repeat',
      facts: { lockPath },
    });
  }
}

/**
 * A lock in git's protocol, `<path>.lock`, that names its owner, so that the lock of a killed process can be broken.
 *
 * All slow work happens before the lock is taken: the new content is on the disk by then. Changing the file is one rename of
 * the staged content, which only the owner knows, and which is removed when the lock is broken.
 * Source: git's lockfile.h; {@link LockRecords} for how a lock is broken.
 */
export class FileLock {
  readonly lockPath: string;
  readonly #target: LockTarget;
  readonly #records: LockRecords;
  readonly #recordPath: string;
  #staged: { content: string | Uint8Array; mode: number } | undefined;

  constructor(target: LockTarget, records: LockRecords) {
    this.lockPath = `${target.path}.lock`;
    this.#target = target;
    this.#records = records;
    this.#recordPath = records.create(this.lockPath);
  }

  /** Writes the new content for {@link commit}; durable when it returns. */
  stage(content: string | Uint8Array, mode: number): void {
    this.#records.stage(this.#recordPath, content, mode);
    this.#staged = { content, mode };
  }

  /**
   * Takes the lock, waiting for others.
   *
   * @param makeFolder makes the folder that the lock lies in
   * @throws {RefLocked} if another process still holds it after `timeoutMs`
   */
  async acquire(timeoutMs: number, makeFolder: () => void): Promise<void> {
    // `performance` is used only when there is something to wait for, because Node takes a millisecond to load it.
    let startMs: number | undefined;
    let folders = 0;
    let renewedMs = 0;
    for (let attempt = 0; ;) {
      makeFolder();
      const outcome = this.#tryToTake();
      if (outcome === 'taken') return;
      if (outcome === 'no-folder') {
        if (++folders > MAX_FOLDERS) throw new Error(`the folder of ${this.lockPath} does not stay`);
        this.#renewRecord();
        continue;
      }
      const holder = this.#records.breakOrIdentify(this.lockPath);
      if (holder === 'gone') continue;
      startMs ??= performance.now();
      const waitedMs = Math.round(performance.now() - startMs);
      if (waitedMs >= timeoutMs) throw this.#locked(holder, waitedMs);
      // The age of a lock is that of its record.
      if (waitedMs - renewedMs > LOCK_MS / 4) {
        renewedMs = waitedMs;
        removeFile(this.#recordPath);
        this.#records.restore(this.#recordPath);
      }
      // Random, so that waiting processes do not try again at the same moment.
      const longest = Math.min(MAX_PAUSE_MS, 2 ** attempt, timeoutMs - waitedMs);
      attempt = Math.min(attempt + 1, 10);
      await sleep(Math.random() * longest);
    }
  }

  /**
   * Puts the new content in place. The folder is not synced.
   *
   * @throws {LockLost} if the lock was broken; the file is left as it is then
   */
  commit(): void {
    this.assertHeld();
    const content = this.#records.contentPath(this.#recordPath);
    try {
      renameSync(content, this.#target.path);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' && !existsSync(content)) throw this.#lost();
      if (errnoOf(error) !== 'EXDEV' || this.#staged === undefined) throw error;
      this.#commitAcross(content, this.#staged);
    }
  }

  /**
   * The records are on another file system than the file: the process that succeeds in removing the staged content may rename
   * the copy beside the file.
   */
  #commitAcross(content: string, staged: { content: string | Uint8Array; mode: number }): void {
    const beside = `${this.#target.path}.${randomBytes(8).toString('hex')}.lock`;
    createDurableFile(beside, [Buffer.from(staged.content)], staged.mode);
    try {
      unlinkSync(content);
      renameSync(beside, this.#target.path);
    } catch (error) {
      removeFile(beside);
      throw errnoOf(error) === 'ENOENT' ? this.#lost() : error;
    }
  }

  /** @throws {LockLost} if the lock was broken since it was taken */
  assertHeld(): void {
    if (!this.#records.isTakenWith(this.#recordPath, this.lockPath)) throw this.#lost();
  }

  /** Releases the lock, if it is held. */
  release(): void {
    if (this.#records.isTakenWith(this.#recordPath, this.lockPath)) removeFile(this.lockPath);
    if (this.#staged !== undefined) removeFile(this.#records.contentPath(this.#recordPath));
    removeFile(this.#recordPath);
  }

  #tryToTake(): 'taken' | 'held' | 'no-folder' {
    try {
      this.#take();
      return 'taken';
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return 'held';
      if (errnoOf(error) === 'ENOENT') return 'no-folder';
      throw error;
    }
  }

  /** Restores the record if another process has removed `<common dir>/uwf` meanwhile. */
  #renewRecord(): void {
    if (existsSync(this.#recordPath)) return;
    this.#records.restore(this.#recordPath);
    if (this.#staged === undefined || existsSync(this.#records.contentPath(this.#recordPath))) return;
    this.stage(this.#staged.content, this.#staged.mode);
  }

  /**
   * Without hard links the lock contains the name of its record. A process that is killed before it writes the name leaves an
   * ordinary lock.
   */
  #take(): void {
    try {
      linkSync(this.#recordPath, this.lockPath);
    } catch (error) {
      if (!isWithoutHardLinks(error)) throw error;
      createFile(this.lockPath, `${basename(this.#recordPath)}\n`);
    }
  }

  #lost(): LockLost {
    return new LockLost(this.#target.name, this.lockPath);
  }

  #locked(holder: LockHolder | undefined, waitedMs: number): RefLocked {
    const where = holder?.isAlive === true ? 'on this host' : `on ${holder?.owner.host}`;
    return new RefLocked(this.#target.name, {
      lockPath: this.lockPath,
      holder: holder === undefined ? undefined : `process ${holder.owner.pid} ${where}`,
      waitedMs,
    });
  }
}
