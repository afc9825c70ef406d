import type { GitObject, ObjectFormat, ObjectId } from './format/object-id.ts';

/** Limits of one read. */
export type ReadOptions = {
  /** Refuse an object larger than this (uncompressed) before it is inflated; default: no limit. */
  maxBytes?: number;
};

/**
 * Durable objects that no ref names yet.
 *
 * Until `release` is called, no other process (`git repack -ad`, `git gc`) removes them.
 * The caller releases after the ref has moved, or when it gives up; calling twice is harmless.
 */
export interface WrittenObjects {
  release(): Promise<void>;
}

/**
 * The immutable half of a repository: objects by id.
 *
 * Implementations: `stores/disk/` (any repository on a disk), `stores/portable/` (isomorphic-git over any `fs`). Both pass `test/contracts/object-store.ts`.
 */
export interface ObjectStore {
  /** The hash of the ids of this repository. */
  readonly format: ObjectFormat;

  /**
   * Reads an object, or `undefined` if the repository does not have it.
   *
   * The hash of the object is computed again on every read.
   * @throws {CorruptObject} if it is there but damaged
   * @throws {ObjectTooLarge} if it is larger than `maxBytes`
   */
  read(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined>;

  /** Tells whether the repository has the object, without reading it. */
  has(id: ObjectId): Promise<boolean>;

  /**
   * Writes objects so that they survive a power cut. Each object is complete or absent; there is no such guarantee for the
   * group.
   *
   * An empty list writes nothing. An existing object may be written again.
   * @throws {StorageFull} / {StorageReadOnly} (kind `environment`); nothing half-written stays
   */
  write(objects: readonly GitObject[]): Promise<WrittenObjects>;

  /** Closes files; the store opens them again when it is used again. */
  close(): Promise<void>;
}
