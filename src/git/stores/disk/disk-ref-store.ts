import { UwfError } from '../../../errors.ts';
import { storing } from '../../format/object-errors.ts';
import type { RefStore } from '../../ref-store.ts';
import type { RepositoryLocation } from '../../repository.ts';
import type { LockRecords } from './lock-records.ts';
import { RefReader } from './ref-reader.ts';

/** A hook of `git receive-pack` runs before the push is accepted. Source: git-receive-pack(1), "QUARANTINE ENVIRONMENT". */
function inQuarantine(): UwfError {
  return new UwfError(
    'git keeps all that is written here in quarantine until it accepts a push, and refuses changes of refs',
    {
      code: 'in-quarantine',
      kind: 'environment',
      hint: "let the hook 'post-receive' run it, or run it in another repository",
    },
  );
}

/**
 * The refs of a repository on disk, loose and packed. They change under git's own locks, so git and other processes of uwf
 * can read and write them at the same time.
 *
 * An edit of a symbolic ref is made on the ref it leads to. No reflog is written (git writes none for refs outside
 * `refs/heads/`, `refs/remotes/` and `refs/notes/` either, unless it is told to), and no hook is run.
 * @param isInQuarantine objects are written where git can delete them again, so no ref is changed
 */
export function openDiskRefs(
  location: RepositoryLocation,
  lockTimeoutMs: number,
  isInQuarantine = false,
): RefStore & { close(): void } {
  const reader = new RefReader(location);
  let records: LockRecords | undefined;
  // What changes refs is loaded late: reading does not need it.
  const lockRecords = async (): Promise<LockRecords> => {
    const { LockRecords: Records } = await import('./lock-records.ts');
    return (records ??= new Records(location.commonDir));
  };
  return {
    read: async (name) => reader.follow(name).id,
    list: async (prefix, wanted) => reader.list(prefix, wanted),
    async update(edits) {
      if (edits.length === 0) return;
      if (isInQuarantine) throw inQuarantine();
      const { RefTransaction } = await import('./ref-transaction.ts');
      const context = { location, reader, records: await lockRecords(), lockTimeoutMs };
      // Every attempt compares the values again. Only a process that stood still for half a minute needs a second one.
      while (!(await new RefTransaction(edits, context).run()));
    },
    async removeStaleLocks() {
      const owned = await lockRecords();
      storing(location.commonDir, () => owned.sweep());
    },
    /** Closes the packed refs; they are opened again when they are needed. */
    close: () => reader.packed.close(),
  };
}
