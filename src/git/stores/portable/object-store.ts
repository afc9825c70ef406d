import { messageOf } from '../../../errors.ts';
import { asStorageError, CorruptObject, errnoOf, ObjectTooLarge } from '../../format/object-errors.ts';
import { hashObject, isObjectType, type GitObject, type ObjectId } from '../../format/object-id.ts';
import type { ObjectStore, ReadOptions, WrittenObjects } from '../../object-store.ts';
import type { PortableFileSystem } from './file-system.ts';
import { inPlaceOf } from '../../../or-else.ts';

/**
 * Objects by isomorphic-git: loose and packed ones are read, loose ones written.
 *
 * Packs are read into memory whole and kept for as long as the store lives, so this is for small repositories;
 * `maxBytes` is checked only after an object was read. Alternates are not followed.
 */
export class PortableObjectStore implements ObjectStore {
  readonly format = 'sha1';
  readonly #files: PortableFileSystem;
  readonly #gitdir: string;
  readonly #now: () => number;
  /** isomorphic-git keeps parsed packs here; without one object for all calls it parses them on every read. */
  #cache: object = {};

  constructor(files: PortableFileSystem, gitdir: string, now: () => number) {
    this.#files = files;
    this.#gitdir = gitdir;
    this.#now = now;
  }

  async read(id: ObjectId, options: ReadOptions = {}): Promise<GitObject | undefined> {
    const object = await this.#readAgainIfMoved(id);
    if (object === undefined) return undefined;
    const { maxBytes } = options;
    if (maxBytes !== undefined && object.data.byteLength > maxBytes) {
      throw new ObjectTooLarge(id, object.data.byteLength, maxBytes);
    }
    return object;
  }

  async has(id: ObjectId): Promise<boolean> {
    if ((await this.#files.kindOf(this.#loosePath(id))) !== undefined) return true;
    return (await this.#readAgainIfMoved(id)) !== undefined;
  }

  async write(objects: readonly GitObject[]): Promise<WrittenObjects> {
    for (const object of objects) await this.#writeLoose(object);
    // Single process: no other process collects garbage, so nothing has to be protected.
    return { release: async () => {} };
  }

  async close(): Promise<void> {
    this.#cache = {};
  }

  async #writeLoose(object: GitObject): Promise<void> {
    const id = hashObject(object);
    const path = this.#loosePath(id);
    if ((await this.#files.kindOf(path)) !== undefined) {
      const isSound = (await this.#readOnce(id).catch(inPlaceOf(CorruptObject, undefined))) !== undefined;
      if (isSound) return this.#files.touch(path, this.#now());
      // isomorphic-git accepts any file at the path as the object, also one that a power cut left half-written.
      await this.#files.removeFile(path);
    }
    const git = await import('isomorphic-git');
    try {
      await git.writeObject({
        fs: this.#files.forGit(),
        gitdir: this.#gitdir,
        type: object.type,
        object: object.data,
        format: 'content',
      });
    } catch (error) {
      throw asStorageError(error, path);
    }
  }

  async #readAgainIfMoved(id: ObjectId): Promise<GitObject | undefined> {
    try {
      return await this.#readOnce(id);
    } catch (error) {
      if (!(error instanceof CorruptObject)) throw error;
      // The damage can be a pack that a `git repack` replaced during the read: drop the cached packs and read again.
      this.#cache = {};
      return this.#readOnce(id);
    }
  }

  async #readOnce(id: ObjectId): Promise<GitObject | undefined> {
    const git = await import('isomorphic-git');
    let found;
    try {
      found = await git.readObject({
        fs: this.#files.forGit(),
        gitdir: this.#gitdir,
        oid: id,
        format: 'content',
        cache: this.#cache,
      });
    } catch (error) {
      if (error instanceof git.Errors.NotFoundError) return undefined;
      // An error of the file system says nothing about the object.
      if (/^E[A-Z]+$/.test(errnoOf(error) ?? '')) throw error;
      throw new CorruptObject(id, messageOf(error), error);
    }
    const { type, object: data } = found;
    if (!isObjectType(type) || !(data instanceof Uint8Array)) throw new CorruptObject(id, 'it is no object of git');
    const object: GitObject = { type, data };
    const actual = hashObject(object);
    if (actual !== id) throw new CorruptObject(id, `its content has the id ${actual}`);
    return object;
  }

  #loosePath(id: ObjectId): string {
    return `${this.#gitdir}/objects/${id.slice(0, 2)}/${id.slice(2)}`;
  }
}
