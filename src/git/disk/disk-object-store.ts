import { CorruptObject } from '../object-errors.ts';
import { hashObject } from '../object-id.ts';
import type { GitObject, ObjectId } from '../object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../object-store.ts';
import { DeltaBaseCache } from './delta-base-cache.ts';
import { hasLooseObject, readLooseObject } from './loose-objects.ts';
import { findObjectFolders } from './object-folders.ts';
import type { ObjectEnvironment } from './object-folders.ts';
import { ObjectSearch } from './object-search.ts';
import { PackFiles } from './pack-files.ts';
import { PackWriter } from './pack-writer.ts';
import { readPackedObject } from './read-packed-object.ts';

const deltaBaseBytes = 16 * 1024 * 1024;

/**
 * The objects of a repository on disk: read from packs and from files of their own, written as one small pack a time.
 *
 * Memory does not grow with the repository: of an index its fan-out table is kept, of packs nothing. git may write,
 * repack and prune beside it. Replace refs are ignored: an id names its own bytes.
 */
export class DiskObjectStore implements ObjectStore {
  readonly format = 'sha1';
  readonly #files: PackFiles = new PackFiles();
  readonly #bases: DeltaBaseCache = new DeltaBaseCache(deltaBaseBytes);
  readonly #commonDir: string;
  readonly #env: ObjectEnvironment;
  #folders: readonly string[] | undefined;
  #search: ObjectSearch | undefined;
  readonly #writer: PackWriter;

  constructor(commonDir: string, env: ObjectEnvironment) {
    this.#commonDir = commonDir;
    this.#env = env;
    this.#writer = new PackWriter(commonDir, env, this.format);
  }

  async read(id: ObjectId, options: ReadOptions = {}): Promise<GitObject | undefined> {
    const maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    return this.#objects().first(id, {
      packed: (pack, offset) => verified(readPackedObject(pack, offset, id, maxBytes, this.#bases), id),
      loose: (folder) => {
        const object = readLooseObject(folder, id, maxBytes);
        return object === undefined ? undefined : verified(object, id);
      },
    });
  }

  async has(id: ObjectId): Promise<boolean> {
    const found = this.#objects().first(id, {
      packed: () => true,
      loose: (folder) => hasLooseObject(folder, id) || undefined,
    });
    return found === true;
  }

  async write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    return this.#writer.write(objects);
  }

  async close(): Promise<void> {
    this.#files.closeAll();
    this.#bases.clear();
  }

  #objects(): ObjectSearch {
    this.#search ??= new ObjectSearch(this.#objectFolders(), this.#files);
    return this.#search;
  }

  #objectFolders(): readonly string[] {
    this.#folders ??= findObjectFolders(this.#commonDir, this.#env);
    return this.#folders;
  }
}

function verified(object: GitObject, id: ObjectId): GitObject {
  const actual = hashObject(object);
  if (actual === id) return object;
  throw new CorruptObject(id, `what lies there is the ${object.type} ${actual}`);
}
