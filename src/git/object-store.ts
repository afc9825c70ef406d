import type { GitObject, ObjectFormat, ObjectId } from './object-id.ts';

/** Limits of one read. */
export type ReadOptions = {
  /** Refuse an object larger than this (uncompressed) before it is inflated; default: no limit. */
  maxBytes?: number;
};

/**
 * Objects that are durable but that no ref names yet.
 *
 * Until `release` is called nothing that works beside us (`git repack -ad`, `git gc`) removes them.
 * The caller releases after the ref has moved, or when it gives up; calling twice is harmless.
 */
export interface WrittenObjects {
  release(): Promise<void>;
}

/**
 * The immutable half of a repository: objects by id.
 *
 * Implementations: `disk/` (any ordinary repository), `portable/` (isomorphic-git over any `fs`), `native/` (git itself,
 * for what those do not speak).
 * All pass `test/contracts/object-store.ts`.
 */
export interface ObjectStore {
  /** Which hash the ids of this repository are. */
  readonly format: ObjectFormat;

  /**
   * Reads an object, or `undefined` if the repository does not have it.
   *
   * What comes back has the id that was asked for: its hash is computed again on every read.
   * @throws {CorruptObject} if it is there but damaged
   * @throws {ObjectTooLarge} if it is larger than `maxBytes`
   */
  read(id: ObjectId, options?: ReadOptions): Promise<GitObject | undefined>;

  /** Tells whether the repository has the object, without reading it. */
  has(id: ObjectId): Promise<boolean>;

  /**
   * Brings objects here that are about to be read, in one connection, where a remote has promised them (a partial clone);
   * left out where all there is is here. What the remote does not have, or cannot be asked for, is told when it is read.
   */
  prefetch?(ids: readonly ObjectId[]): Promise<void>;

  /**
   * Writes objects so that they survive a power cut, all or none visible as a group being no promise,
   * each one complete or absent being one.
   *
   * An empty list writes nothing. An object that is there already may be written again.
   * @throws {StorageFull} / {StorageReadOnly} (kind `environment`); nothing half-written stays
   */
  write(objects: readonly GitObject[]): Promise<WrittenObjects>;

  /** Frees file descriptors; the store opens them again when it is used again. */
  close(): Promise<void>;
}
