import { asStorageError } from '../object-errors.ts';
import type { ObjectId } from '../object-id.ts';
import type { Ref, RefEdit, RefName, RefStore, WantedRefs } from '../ref-store.ts';
import type { RepositoryLocation } from '../repository.ts';
import type { LockRecords } from './lock-records.ts';
import { RefReader } from './ref-reader.ts';

/**
 * The refs of a repository on disk, loose and packed, changed under git's own locks: git and other processes of uwf may
 * read and write the same refs at the same moment.
 *
 * An edit of a symbolic ref is made on the ref it leads to. No reflog is written (git writes none for refs outside
 * `refs/heads/`, `refs/remotes/` and `refs/notes/` either, unless it is told to), and no hook is run.
 */
export class DiskRefStore implements RefStore {
  readonly #location: RepositoryLocation;
  readonly #reader: RefReader;
  #records: LockRecords | undefined;
  readonly #lockTimeoutMs: number;

  constructor(location: RepositoryLocation, lockTimeoutMs: number) {
    this.#location = location;
    this.#reader = new RefReader(location);
    this.#lockTimeoutMs = lockTimeoutMs;
  }

  async read(name: RefName): Promise<ObjectId | undefined> {
    return this.#reader.follow(name).id;
  }

  async list(prefix: string, wanted?: WantedRefs): Promise<Ref[]> {
    return this.#reader.list(prefix, wanted);
  }

  async update(edits: readonly RefEdit[]): Promise<void> {
    if (edits.length === 0) return;
    // Who only reads pays for none of this.
    const { RefTransaction } = await import('./ref-transaction.ts');
    const context = {
      location: this.#location,
      reader: this.#reader,
      records: await this.#lockRecords(),
      lockTimeoutMs: this.#lockTimeoutMs,
    };
    // Every new attempt compares the values anew. It takes a process that stood still for half a minute to need one.
    while (!(await new RefTransaction(edits, context).run()));
  }

  async removeStaleLocks(): Promise<void> {
    const records = await this.#lockRecords();
    try {
      records.sweep();
    } catch (error) {
      throw asStorageError(error, this.#location.commonDir);
    }
  }

  /** Closes the packed refs; they are opened again when they are needed. */
  close(): void {
    this.#reader.packed.close();
  }

  async #lockRecords(): Promise<LockRecords> {
    if (this.#records !== undefined) return this.#records;
    const { LockRecords: Records } = await import('./lock-records.ts');
    return (this.#records ??= new Records(this.#location.commonDir));
  }
}
