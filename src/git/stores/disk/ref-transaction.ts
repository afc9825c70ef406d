import { readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asStorageError, errnoOf } from '../../format/object-errors.ts';
import { InvalidRefName, RefNameConflict } from '../../format/ref-errors.ts';
import type { ObjectId } from '../../format/object-id.ts';
import { parseRefName } from '../../format/ref-name.ts';
import { RefMoved } from '../../ref-store.ts';
import type { RefEdit, RefName } from '../../ref-store.ts';
import type { RepositoryLocation } from '../../repository.ts';
import { putBack, removeFile } from '../../system/durable-file.ts';
import { findStats } from '../../system/find-stats.ts';
import { FileLock, LockLost } from './file-lock.ts';
import type { LockRecords } from './lock-records.ts';
import { makeFoldersOf, removeEmptyFoldersAbove, removeEmptyTree, syncFolders } from './ref-folders.ts';
import { isOwnOfWorktree, refPath } from './ref-path.ts';
import type { RefReader } from './ref-reader.ts';
import { tryTo } from '../../../or-else.ts';

/** An edit, and the ref that it changes: the end of a chain of symbolic refs. */
type Change = { edit: RefEdit; name: RefName; path: string; lock: FileLock; folders: string[] };
type Deletion = Change & { edit: { expected: ObjectId } };

export type TransactionContext = {
  location: RepositoryLocation;
  reader: RefReader;
  records: LockRecords;
  lockTimeoutMs: number;
};

const fileMode = 0o666;
/** A part of the name is a file, or the name is a folder. */
const blocked = new Set<string | undefined>(['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY']);

/**
 * Changes several refs under git's lock protocol.
 *
 * Locks are taken in the order of the names, as git does, `packed-refs.lock` last; the values are compared under all of
 * them. A deletion holds `packed-refs.lock` until the loose file has gone too, so that a `git pack-refs` beside it
 * cannot bring the value back, and takes the packed value away first, so that it does not show in between.
 * Source: `files_transaction_prepare` and `files_transaction_finish` in git's refs/files-backend.c.
 */
export class RefTransaction {
  readonly #context: TransactionContext;
  readonly #edits: readonly RefEdit[];
  readonly #changes: Change[] = [];
  #packedLock: FileLock | undefined;
  /** The lock, once new content is staged for it. */
  #newPackedRefs: FileLock | undefined;
  #hasChanged = false;

  constructor(edits: readonly RefEdit[], context: TransactionContext) {
    this.#edits = edits;
    this.#context = context;
  }

  /**
   * Makes the changes, or none; may be called once. Its errors are those of `RefStore.update`.
   *
   * @returns false if it lost a lock before anything was changed: run a new transaction
   * @throws {LockLost} if it lost one later
   */
  async run(): Promise<boolean> {
    try {
      await this.#change();
      return true;
    } catch (error) {
      if (error instanceof LockLost && !this.#hasChanged) return false;
      throw asStorageError(error, this.#context.location.commonDir);
    }
  }

  async #change(): Promise<void> {
    try {
      this.#context.records.sweep();
      // Refuses edits that cannot succeed before anything is written.
      this.#verify();
      this.#prepare();
      await this.#lock();
      this.#verify();
      this.#stagePackedRefs();
      this.#write();
      this.#delete();
    } finally {
      this.#release();
    }
  }

  /** Compares every expected value, and looks for names that cannot exist beside each other. */
  #verify(): void {
    const { reader } = this.#context;
    const names = new Set<RefName>();
    for (const edit of this.#edits) {
      const { name, id = null } = reader.follow(edit.name);
      if (names.has(name)) throw new InvalidRefName(name, 'it is changed twice in one transaction');
      names.add(name);
      const locked = this.#changes.find((change) => change.edit === edit);
      // A symbolic ref that has another target now than when the lock was taken has moved too.
      if (id !== edit.expected || (locked !== undefined && locked.name !== name)) {
        throw new RefMoved(edit.name, edit.expected, id);
      }
    }
    for (const edit of this.#edits) {
      if (edit.value !== null && edit.expected === null) this.#verifyName(reader.follow(edit.name).name, names);
    }
  }

  #verifyName(name: RefName, names: ReadonlySet<RefName>): void {
    const { reader } = this.#context;
    for (const parent of foldersOf(name)) {
      if (names.has(parent) || reader.exists(parent)) throw new RefNameConflict(name, parent);
    }
    const below = [...names].find((other) => other.startsWith(`${name}/`)) ?? reader.firstBelow(name);
    if (below !== undefined) throw new RefNameConflict(name, below);
  }

  /** Does everything that needs space or time, so that the locks are held for a moment only. */
  #prepare(): void {
    const { location, reader, records } = this.#context;
    for (const edit of this.#edits) {
      const { name } = reader.follow(edit.name);
      const path = refPath(location, name);
      const lock = new FileLock({ path, name }, records);
      this.#changes.push({ edit, name, path, lock, folders: [] });
      if (edit.value !== null && edit.value !== edit.expected) lock.stage(`${edit.value}\n`, fileMode);
    }
    this.#changes.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    if (this.#deletions().length > 0) {
      const { path } = reader.packed;
      this.#packedLock = new FileLock({ path, name: 'packed-refs' }, records);
    }
  }

  async #lock(): Promise<void> {
    const { lockTimeoutMs } = this.#context;
    for (const { lock, name, path, folders } of this.#changes) {
      await lock.acquire(lockTimeoutMs, () => {
        try {
          folders.push(...makeFoldersOf(path));
        } catch (error) {
          if (blocked.has(errnoOf(error))) throw new RefNameConflict(name, dirname(name));
          // ENOENT: another process removed an empty folder meanwhile; taking the lock fails then and tries again.
          if (errnoOf(error) !== 'ENOENT') throw error;
        }
      });
    }
    await this.#packedLock?.acquire(lockTimeoutMs, () => {});
  }

  /** Stages the remaining packed refs before anything changes, so that a full disk changes nothing. */
  #stagePackedRefs(): void {
    if (this.#packedLock === undefined) return;
    const { reader } = this.#context;
    const remaining = reader.packed.without(new Set(this.#deletions().map(({ name }) => name)));
    if (remaining === undefined) return;
    this.#packedLock.stage(remaining.content, remaining.mode);
    this.#newPackedRefs = this.#packedLock;
  }

  #write(): void {
    const written: string[] = [];
    for (const { edit, lock, name, path, folders } of this.#changes) {
      if (edit.value === null || edit.value === edit.expected) continue;
      // git leaves empty folders where refs were; a new ref replaces them.
      if (isFolder(path) && !removeEmptyTree(path)) throw new RefNameConflict(name, `${name}/`);
      try {
        lock.commit();
        this.#hasChanged = true;
        lock.release();
      } catch (error) {
        if (blocked.has(errnoOf(error))) throw new RefNameConflict(name, `${name}/`);
        throw error;
      }
      written.push(...folders);
    }
    // Before the first deletion, so that a ref that is renamed exists twice rather than not at all.
    syncFolders(written);
  }

  #delete(): void {
    const deletions = this.#deletions();
    const { location, reader } = this.#context;
    if (this.#newPackedRefs !== undefined) {
      this.#newPackedRefs.commit();
      this.#hasChanged = true;
      syncFolders([dirname(reader.packed.path)]);
    }
    for (const change of deletions) {
      const { name, path } = change;
      // git may have left empty folders in place of the file of a packed ref.
      if (!isFolder(path)) this.#deleteLoose(change);
      // A reflog without its ref would keep its objects for ever.
      const log = join(isOwnOfWorktree(name) ? location.gitDir : location.commonDir, 'logs', name);
      if (!isFolder(log)) removeFile(log);
    }
    syncFolders(deletions.map(({ path }) => dirname(path)));
  }

  /**
   * Removes the file of a ref if it has the expected value. The file is renamed first and then read, because a process that
   * has broken the lock can write to it in between. The file of such a process is put back.
   */
  #deleteLoose({ edit, name, path, lock }: Deletion): void {
    lock.assertHeld();
    const taken = this.#context.records.ownPath(path);
    try {
      renameSync(path, taken);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return;
      if (errnoOf(error) !== 'EXDEV') throw error;
      // The records are on another file system, so only the lock is checked.
      removeFile(path);
      this.#hasChanged = true;
      return;
    }
    if (readFileSync(taken, 'latin1').toLowerCase().startsWith(edit.expected)) {
      this.#hasChanged = true;
      return removeFile(taken);
    }
    putBack(taken, path);
    throw new LockLost(name, lock.lockPath);
  }

  #release(): void {
    // The others are released too, and what was changed stays changed: a lock that is left goes with its process.
    for (const lock of [this.#packedLock, ...this.#changes.map((change) => change.lock)]) tryTo(() => lock?.release());
    const { location } = this.#context;
    for (const { name } of this.#changes) {
      removeEmptyFoldersAbove(isOwnOfWorktree(name) ? location.gitDir : location.commonDir, name);
    }
  }

  #deletions(): Deletion[] {
    return this.#changes.filter(
      (change): change is Deletion => change.edit.value === null && change.edit.expected !== null,
    );
  }
}

/** The parents of a ref name, which have to be folders: `refs/a`, `refs/a/b`. */
function foldersOf(name: RefName): RefName[] {
  const folders: RefName[] = [];
  for (let slash = name.indexOf('/', 'refs/'.length); slash !== -1; slash = name.indexOf('/', slash + 1)) {
    folders.push(parseRefName(name.slice(0, slash)));
  }
  return folders;
}

function isFolder(path: string): boolean {
  return findStats(path)?.isDirectory() === true;
}
