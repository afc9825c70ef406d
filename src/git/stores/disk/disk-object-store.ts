import { CorruptObject } from '../../format/object-errors.ts';
import { hashObject } from '../../format/object-id.ts';
import type { GitObject, ObjectId } from '../../format/object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../../object-store.ts';
import { DeltaBaseCache } from './delta-base-cache.ts';
import { hasLooseObject, readLooseObject } from './loose-objects.ts';
import { findObjectFolders } from './object-folders.ts';
import type { GitEnvironment } from '../../repository.ts';
import { ObjectSearch } from './object-search.ts';
import { PackFiles } from './pack-files.ts';
import { readPackedObject } from './read-packed-object.ts';

const MAX_DELTA_BASE_BYTES = 16 * 1024 * 1024;

/**
 * The objects of a repository on disk: read from packs and loose files; each write is one small pack.
 *
 * Memory does not grow with the repository: only the fan-out tables of indexes are kept. git can write, repack and prune at
 * the same time. Replace refs are ignored: an id names its own bytes.
 */
export class DiskObjectStore implements ObjectStore {
  readonly format = 'sha1';
  readonly #files: PackFiles = new PackFiles();
  readonly #bases: DeltaBaseCache = new DeltaBaseCache(MAX_DELTA_BASE_BYTES);
  readonly #commonDir: string;
  readonly #env: GitEnvironment;
  #search: ObjectSearch | undefined;
  #writePack: ((objects: readonly GitObject[]) => WrittenObjects) | undefined;

  constructor(commonDir: string, env: GitEnvironment) {
    this.#commonDir = commonDir;
    this.#env = env;
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
    // Most commands only read.
    const { packWriter } = await import('./pack-writer.ts');
    this.#writePack ??= packWriter(this.#commonDir, this.#env, this.format);
    return this.#writePack(objects);
  }

  async close(): Promise<void> {
    this.#files.closeAll();
    this.#bases.clear();
  }

  #objects(): ObjectSearch {
    this.#search ??= new ObjectSearch(findObjectFolders(this.#commonDir, this.#env), this.#files);
    return this.#search;
  }
}

function verified(object: GitObject, id: ObjectId): GitObject {
  const actual = hashObject(object);
  if (actual === id) return object;
  throw new CorruptObject(id, `what lies there is the ${object.type} ${actual}`);
}
