import type { ObjectStore } from '../../object-store.ts';
import type { RefStore } from '../../ref-store.ts';
import type { GitEnvironment, RepositoryLocation } from '../../repository.ts';
import { DiskObjectStore } from './disk-object-store.ts';
import { openDiskRefs } from './disk-ref-store.ts';

export type DiskStoreOptions = {
  /** Where `GIT_OBJECT_DIRECTORY`, `GIT_ALTERNATE_OBJECT_DIRECTORIES` and `GIT_QUARANTINE_PATH` are looked up; default: nowhere. */
  env?: GitEnvironment;
  /** How long to wait for a lock of another process; default: 10 s. git waits for 0.1 s, and 1 s for packed refs. */
  lockTimeoutMs?: number;
};

/** The two stores of a repository on disk. */
export type DiskStores = { objects: ObjectStore; refs: RefStore; close(): Promise<void> };

const LOCK_TIMEOUT_MS = 10_000;

/**
 * Opens uwf's own stores over a git folder. Nothing is read or made before it is needed.
 *
 * The caller has checked that the format is supported (SHA-1, ref files).
 */
export function openDiskStores(location: RepositoryLocation, options: DiskStoreOptions = {}): DiskStores {
  const { env = {}, lockTimeoutMs = LOCK_TIMEOUT_MS } = options;
  const objects = new DiskObjectStore(location.commonDir, env);
  const refs = openDiskRefs(location, lockTimeoutMs, env['GIT_QUARANTINE_PATH'] !== undefined);
  return {
    objects,
    refs,
    close: async () => {
      await objects.close();
      refs.close();
    },
  };
}
