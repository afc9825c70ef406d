import type { ObjectFormat } from '../../format/object-id.ts';
import type { ObjectStore } from '../../object-store.ts';
import type { RefStore } from '../../ref-store.ts';
import type { GitEnvironment, RepositoryLocation } from '../../repository.ts';
import type { RefWriter } from '../ref-writer.ts';
import { DiskObjectStore } from './disk-object-store.ts';
import { RefReader } from './read-refs.ts';

export type DiskStoreOptions = {
  /** git's environment, which can name other folders of objects and a quarantine; default: none. */
  env?: GitEnvironment;
  /** How long to wait for a lock of another process on a ref. */
  lockTimeoutMs?: number | undefined;
};

/** The two stores of a repository on disk. */
export type DiskStores = { objects: ObjectStore; refs: RefStore; close(): Promise<void> };

/**
 * Opens uwf's own stores over a git folder: it reads objects and refs and writes objects itself, and git writes the refs.
 * Nothing is read or started before it is needed.
 *
 * The caller has checked that refs are files.
 * @param format of the objects
 */
export function openDiskStores(
  location: RepositoryLocation,
  { env = {}, lockTimeoutMs }: DiskStoreOptions = {},
  format: ObjectFormat = 'sha1',
): DiskStores {
  const objects = new DiskObjectStore(location.commonDir, env, format);
  const reader = new RefReader(location);
  const read: RefStore['read'] = async (name) => reader.follow(name).id;
  let writer: Promise<RefWriter> | undefined;
  // What changes refs is loaded late: reading does not need it.
  const open = async (): Promise<RefWriter> => {
    const { RefWriter: Writer } = await import('../ref-writer.ts');
    return new Writer({ location, env }, { objects: format, refs: 'files', lockTimeoutMs, read });
  };
  return {
    objects,
    refs: {
      read,
      list: async (prefix, wanted) => reader.list(prefix, wanted),
      update: async (edits) => (await (writer ??= open())).update(edits),
    },
    close: async () => {
      await objects.close();
      await (await writer)?.close();
      reader.packed.close();
    },
  };
}
