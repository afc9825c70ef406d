import { existsSync, linkSync, renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../object-errors.ts';
import { RefLocked } from '../ref-errors.ts';
import { createDurableFile, removeFile } from './durable-file.ts';
import type { LockHolder, LockRecords } from './lock-records.ts';

/** Errors that say that this file system has no hard links, or not between these folders. */
const noLinks = new Set(['EPERM', 'EXDEV', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
const longestPauseMs = 50;
/** How often the folder of a lock is made again that git removes because it is empty. */
const mostFolders = 100;

/** What a lock is taken for. */
export type LockTarget = {
  /** The file that is locked; the lock is `<path>.lock`. */
  path: string;
  /** The ref's name, or `packed-refs`, for the error. */
  name: string;
  /** What the file will hold if {@link FileLock.commit} is called. */
  content: string;
  mode: number;
};

/**
 * A lock in git's protocol, `<path>.lock`, that says whose it is and that a killed owner does not leave for good.
 *
 * Everything that takes time is done when it is made: the new content is on the disk before the lock is taken, and to
 * change the file is one rename.
 * Where the file system has no hard links the lock is an ordinary one, which git and uwf wait for but never break.
 * Source: git's lockfile.h.
 */
export class FileLock {
  readonly lockPath: string;
  readonly #target: LockTarget;
  readonly #records: LockRecords;
  #recordPath: string | undefined;
  #isHeld = false;

  constructor(target: LockTarget, records: LockRecords) {
    this.lockPath = `${target.path}.lock`;
    this.#target = target;
    this.#records = records;
    this.#recordPath = records.create(this.lockPath, target.content, target.mode);
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
      // Random, so that those who wait do not come back at the same moment.
      const longest = Math.min(longestPauseMs, 2 ** attempt, timeoutMs - waitedMs);
      attempt = Math.min(attempt + 1, 10);
      await sleep(Math.random() * longest);
    }
  }

  /** Puts the new content in place and lets go of the lock, in one step. The folder is not synced. */
  commit(): void {
    renameSync(this.lockPath, this.#target.path);
    this.#isHeld = false;
    this.release();
  }

  /** Lets go of the lock, if it is held, and leaves the file as it is. */
  release(): void {
    if (this.#isHeld) removeFile(this.lockPath);
    this.#isHeld = false;
    if (this.#recordPath !== undefined) removeFile(this.#recordPath);
    this.#recordPath = undefined;
  }

  #tryToTake(): 'taken' | 'held' | 'no-folder' {
    if (this.#recordPath === undefined) throw new Error(`the lock ${this.lockPath} was already let go of`);
    try {
      linkSync(this.#recordPath, this.lockPath);
    } catch (error) {
      const code = errnoOf(error) ?? '';
      if (code === 'EEXIST') return 'held';
      if (code === 'ENOENT') return 'no-folder';
      if (!noLinks.has(code)) throw error;
      return this.#takeWithoutRecord();
    }
    this.#isHeld = true;
    return 'taken';
  }

  /** Whoever cleans up `<common dir>/uwf` while we wait takes the record away; that must not stop us. */
  #renewRecord(): void {
    if (this.#recordPath === undefined || existsSync(this.#recordPath)) return;
    this.#recordPath = this.#records.create(this.lockPath, this.#target.content, this.#target.mode);
  }

  #takeWithoutRecord(): 'taken' | 'held' | 'no-folder' {
    try {
      createDurableFile(this.lockPath, [Buffer.from(this.#target.content)], this.#target.mode);
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return 'held';
      if (errnoOf(error) === 'ENOENT') return 'no-folder';
      throw error;
    }
    this.#isHeld = true;
    return 'taken';
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
