import { storing } from '../../format/object-errors.ts';
import type { ObjectId } from '../../format/object-id.ts';
import type { Ref, RefEdit, RefName, RefStore, WantedRefs } from '../../ref-store.ts';
import type { RepositoryLocation } from '../../repository.ts';
import type { LockRecords } from './lock-records.ts';
import { RefReader } from './ref-reader.ts';

/**
 * The refs of a repository on disk, loose and packed. They change under git's own locks, so git and other processes of uwf
 * can read and write them at the same time.
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
    // Loaded late: reading does not need it.
    const { RefTransaction } = await import('./ref-transaction.ts');
    const context = {
      location: this.#location,
      reader: this.#reader,
      records: await this.#lockRecords(),
      lockTimeoutMs: this.#lockTimeoutMs,
    };
    // Every attempt compares the values again. Only a process that stood still for half a minute needs a second one.
    while (!(await new RefTransaction(edits, context).run()));
  }

  async removeStaleLocks(): Promise<void> {
    const records = await this.#lockRecords();
    storing(this.#location.commonDir, () => records.sweep());
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
