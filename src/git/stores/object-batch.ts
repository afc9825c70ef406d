import { encodeCommit } from '../format/commit.ts';
import type { Commit } from '../format/commit.ts';
import { hashObject } from '../format/object-id.ts';
import type { GitObject, ObjectFormat, ObjectId } from '../format/object-id.ts';
import { encodeTree } from '../format/tree.ts';
import type { TreeEntry } from '../format/tree.ts';
import { ObjectTooLarge } from '../format/object-errors.ts';
import type { Repository } from '../repository.ts';

/**
 * Collects objects in memory that are written together.
 *
 * Adding an object computes its id, so trees and commits can refer to objects that are not written yet. The same object is
 * kept once. Nothing reaches the repository before `publish`.
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

  /** Adds a commit of which uwf itself is the author. The same tree, parents, message and time are the same commit everywhere. */
  addOwnCommit(commit: Pick<Commit, 'tree' | 'parents' | 'message'>, atMs: number): ObjectId {
    const author = { name: 'uwf', email: 'uwf@localhost', atMs };
    return this.addCommit({ ...commit, author, committer: author });
  }

  /** All objects in the order of adding: an object comes before those that refer to it. */
  get objects(): GitObject[] {
    return [...this.#byId.values()];
  }

  /** An object that was added, or `undefined`. */
  find(id: ObjectId): GitObject | undefined {
    return this.#byId.get(id);
  }

  /** Adds an encoded object, without checks: a tree that git has written can hold names of any bytes. */
  add(object: GitObject): ObjectId {
    const id = hashObject(object, this.format);
    if (!this.#byId.has(id)) this.#byId.set(id, object);
    return id;
  }
}

/** A repository as it will be once a batch is written. Nothing can be written to it. */
export function repositoryWith(repository: Repository, batch: ObjectBatch): Repository {
  const { objects } = repository;
  return {
    ...repository,
    objects: {
      format: objects.format,
      async read(id, options) {
        const object = batch.find(id);
        if (object === undefined) return objects.read(id, options);
        const { maxBytes = Infinity } = options ?? {};
        if (object.data.byteLength > maxBytes) throw new ObjectTooLarge(id, object.data.byteLength, maxBytes);
        return object;
      },
      has: async (id) => batch.find(id) !== undefined || objects.has(id),
      write: () => Promise.reject(new Error('a repository that is only imagined is not written to')),
      close: () => Promise.resolve(),
    },
  };
}
