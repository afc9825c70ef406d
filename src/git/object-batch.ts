import { encodeCommit } from './commit.ts';
import type { Commit } from './commit.ts';
import { hashObject } from './object-id.ts';
import type { GitObject, ObjectFormat, ObjectId } from './object-id.ts';
import { encodeTree } from './tree.ts';
import type { TreeEntry } from './tree.ts';

/**
 * Objects that are to be written together, collected in memory.
 *
 * Adding computes the object's id, so that trees and commits can name what is not written yet; adding the same object
 * twice keeps it once. Nothing reaches the repository before `publish`.
 */
export class ObjectBatch {
  readonly format: ObjectFormat;
  readonly #byId = new Map<ObjectId, GitObject>();

  /** @param format that of the repository the objects are for (`objects.format`) */
  constructor(format: ObjectFormat = 'sha1') {
    this.format = format;
  }

  /** Adds a blob; a string is stored as UTF-8. */
  addBlob(data: Uint8Array | string): ObjectId {
    return this.add({ type: 'blob', data: typeof data === 'string' ? Buffer.from(data) : data });
  }

  /** @throws {UnwritableObject} as `encodeTree` does */
  addTree(entries: readonly TreeEntry[]): ObjectId {
    return this.add({ type: 'tree', data: encodeTree(entries) });
  }

  /** @throws {UnwritableObject} as `encodeCommit` does */
  addCommit(commit: Commit): ObjectId {
    return this.add({ type: 'commit', data: encodeCommit(commit) });
  }

  /** All that was added, in the order of adding: what is named comes before what names it. */
  get objects(): GitObject[] {
    return [...this.#byId.values()];
  }

  /** An object that was added, or `undefined`. */
  find(id: ObjectId): GitObject | undefined {
    return this.#byId.get(id);
  }

  /** Adds an object that is encoded already. What git has written is not judged: a tree may hold names of any bytes. */
  add(object: GitObject): ObjectId {
    const id = hashObject(object, this.format);
    if (!this.#byId.has(id)) this.#byId.set(id, object);
    return id;
  }
}
