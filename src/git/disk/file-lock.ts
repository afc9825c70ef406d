import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, renameSync, unlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UwfError } from '../../errors.ts';
import { isWithoutHardLinks } from '../no-hard-links.ts';
import { errnoOf } from '../object-errors.ts';
import { RefLocked } from '../ref-errors.ts';
import { createDurableFile, createFile, removeFile } from './durable-file.ts';
import { LOCK_MS, type LockHolder, type LockRecords } from './lock-records.ts';

const longestPauseMs = 50;
/** How often the folder of a lock is made again that git removes because it is empty. */
const mostFolders = 100;

/** What a lock is taken for. */
export type LockTarget = {
  /** The file that is locked; the lock is `<path>.lock`. */
  path: string;
  /** The ref's name, or `packed-refs`, for the error. */
  name: string;
};

/** A lock lapsed while its owner stood still, and another process has broken it. */
export class LockLost extends UwfError {
  readonly lockPath: string;
  constructor(name: string, lockPath: string) {
    super(`the lock on ${name} lapsed while this process stood still (${lockPath})`, {
      code: 'lock-lost',
      kind: 'conflict',
      hint: 'look at it again and repeat',
    });
    this.lockPath = lockPath;
  }
}

/**
 * A lock in git's protocol, `<path>.lock`, that says whose it is and that a killed owner does not leave for good.
 *
 * Everything that takes time is done before it is taken: the new content is on the disk by then, and to change the file is
 * one rename, of a file that the owner alone knows and that is gone once the lock was broken.
 * Source: git's lockfile.h; {@link LockRecords} for how a lock is broken.
 */
export class FileLock {
  readonly lockPath: string;
  readonly #target: LockTarget;
  readonly #records: LockRecords;
  readonly #recordPath: string;
  #staged: { content: string | Uint8Array; mode: number } | undefined;
  #isHeld = false;

  constructor(target: LockTarget, records: LockRecords) {
    this.lockPath = `${target.path}.lock`;
    this.#target = target;
    this.#records = records;
    this.#recordPath = records.create(this.lockPath);
  }

  /** Writes what the file is to hold after {@link commit}; on the disk when this returns. */
  stage(content: string | Uint8Array, mode: number): void {
    this.#records.stage(this.#recordPath, content, mode);
    this.#staged = { content, mode };
  }

  /**
   * Takes the lock, waiting for others.
   *
   * @param makeFolder makes the folder that the lock lies in
   * @throws {RefLocked} if somebody else still holds it when `timeoutMs` have passed
   */
  async acquire(timeoutMs: number, makeFolder: () => void): Promise<void> {
    // The clock is asked for once there is something to wait for: Node loads it, which takes a millisecond.
    let startMs: number | undefined;
    let folders = 0;
    let renewedMs = 0;
    for (let attempt = 0; ;) {
      makeFolder();
      const outcome = this.#tryToTake();
      if (outcome === 'taken') return;
      if (outcome === 'no-folder') {
        if (++folders > mostFolders) throw new Error(`the folder of ${this.lockPath} does not stay`);
        this.#renewRecord();
        continue;
      }
      const holder = this.#records.breakOrIdentify(this.lockPath);
      if (holder === 'gone') continue;
      startMs ??= performance.now();
      const waitedMs = Math.round(performance.now() - startMs);
      if (waitedMs >= timeoutMs) throw this.#locked(holder, waitedMs);
      // A lock counts from when its record was made.
      if (waitedMs - renewedMs > LOCK_MS / 4) {
        renewedMs = waitedMs;
        removeFile(this.#recordPath);
        this.#records.restore(this.#recordPath);
      }
      // Random, so that those who wait do not come back at the same moment.
      const longest = Math.min(longestPauseMs, 2 ** attempt, timeoutMs - waitedMs);
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

  /** The records lie on another file system than the file: the one who removes the content may write it beside the file. */
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
    if (!this.#isHeld || !this.#records.isTakenWith(this.#recordPath, this.lockPath)) throw this.#lost();
  }

  /** Lets go of the lock, if it is held. */
  release(): void {
    if (this.#isHeld && this.#records.isTakenWith(this.#recordPath, this.lockPath)) removeFile(this.lockPath);
    this.#isHeld = false;
    if (this.#staged !== undefined) removeFile(this.#records.contentPath(this.#recordPath));
    removeFile(this.#recordPath);
  }

  #tryToTake(): 'taken' | 'held' | 'no-folder' {
    try {
      linkSync(this.#recordPath, this.lockPath);
    } catch (error) {
      const code = errnoOf(error) ?? '';
      if (code === 'EEXIST') return 'held';
      if (code === 'ENOENT') return 'no-folder';
      if (!isWithoutHardLinks(error)) throw error;
      return this.#takeByContent();
    }
    this.#isHeld = true;
    return 'taken';
  }

  /** A process that cleans up `<common dir>/uwf` meanwhile takes the record away; that must not stop this one. */
  #renewRecord(): void {
    if (existsSync(this.#recordPath)) return;
    this.#records.restore(this.#recordPath);
    if (this.#staged === undefined || existsSync(this.#records.contentPath(this.#recordPath))) return;
    this.stage(this.#staged.content, this.#staged.mode);
  }

  /** Without hard links the lock says the name of its record. One that is killed before it does leaves an ordinary lock. */
  #takeByContent(): 'taken' | 'held' | 'no-folder' {
    try {
      createFile(this.lockPath, `${basename(this.#recordPath)}\n`);
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return 'held';
      if (errnoOf(error) === 'ENOENT') return 'no-folder';
      throw error;
    }
    this.#isHeld = true;
    return 'taken';
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
