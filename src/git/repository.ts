import { UwfError } from '../errors.ts';
import type { RefDamage } from './format/errors.ts';
import type { GitObject, ObjectFormat, ObjectId } from './format/object-id.ts';

// The room git: everything that a repository is. Objects and refs come in to be written and go out as they were read;
// files of a work tree become snapshots and come back; remotes get packs and give them. The door is
// `open-repository.ts`: it gives a `Repository`, whose stores the other rooms use, and no other room runs git or reads
// `.git`. A ref moves only from the value that is expected, so one of two writers fails and knows it. A repository may
// be missing, damaged, of another user, or on a full disk, and a remote may be away: each is an error that names the
// file, the ref or the command of git.

/** Environment variables by name, as `process.env` has them. */
export type GitEnvironment = Readonly<Record<string, string | undefined>>;

/** Where a repository lies on disk; all paths absolute, symbolic links resolved. */
export type RepositoryLocation = {
  /** The repository's own folder: `.git`, `.git/worktrees/<name>`, or the bare folder itself. */
  gitDir: string;
  /** What linked worktrees share: objects, refs, configuration. Equals `gitDir` in a main worktree. */
  commonDir: string;
  /** The top of the work tree; `undefined` in a bare repository. */
  workTree: string | undefined;
};

/** A name and an e-mail address, as commits carry them. */
export type Identity = { name: string; email: string };

/**
 * An open repository: the two stores, and the facts that callers hand to the library.
 *
 * It never changes after it is opened, and holds no lock. The library reads the home directory and the clock only through it.
 */
export interface Repository {
  readonly objects: ObjectStore;
  readonly refs: RefStore;
  /** `undefined` for a repository that is not on a disk of its own (memory, browser). */
  readonly location: RepositoryLocation | undefined;
  /**
   * Machine-local folder for leases, lookups and journals (`<common dir>/uwf`), made when first written;
   * `undefined` where there is no disk. Losing it loses no acknowledged step.
   */
  readonly stateDir: string | undefined;
  /** The committer: the user's git identity, or `uwf <uwf@localhost>`. */
  readonly committer: Identity;
  /** The time in ms since 1970. */
  readonly now: () => number;
  close(): Promise<void>;
}

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
   * @throws {StorageFull} / {StorageReadOnly} (kind `environment`), as all that writes; nothing half-written stays
   */
  write(objects: readonly GitObject[]): Promise<WrittenObjects>;

  /** Closes files; the store opens them again when it is used again. */
  close(): Promise<void>;
}

/** A full ref name that passes git's rules (`git check-ref-format`). Made only by `format/refs.ts`. */
export type RefName = string & { readonly __brand: 'RefName' };

export type Ref = { name: RefName; id: ObjectId };

/**
 * One change of one ref, with the value it is expected to have.
 *
 * `expected: null`: must not exist. `value: null`: delete. Both null: assert that it does not exist.
 * `expected` equal to `value`: assert that it still has that value.
 */
export type RefEdit = { name: RefName; expected: ObjectId | null; value: ObjectId | null };

/** A ref did not have the value that was expected. Nothing of the transaction was changed. */
export class RefMoved extends UwfError {
  readonly ref: RefName;
  readonly expected: ObjectId | null;
  readonly actual: ObjectId | null;
  constructor(ref: RefName, expected: ObjectId | null, actual: ObjectId | null) {
    super(`${ref} is at ${actual ?? 'nothing'}, not at ${expected ?? 'nothing'} as expected`, {
      code: 'ref-moved',
      kind: 'conflict',
      hint: 'another process changed it; look at it again and repeat',
    });
    this.ref = ref;
    this.expected = expected;
    this.actual = actual;
  }
}

/** The refs below a prefix that the caller needs; default: all. */
export type WantedRefs = {
  /** Refs whose names begin with this, which begins with the prefix itself. */
  startsWith?: string;
  /** Refs whose names are not before this one, in byte order. */
  notBefore?: string;
  /** Refs whose last part begins with this. A store can find them without reading the other names. */
  lastPart?: string;
  /** Refs for whose names it returns true. */
  where?: (name: string) => boolean;
  /** The last so many of these. */
  last?: number;
  /**
   * Called for every broken ref and for a broken `packed-refs`; the readable refs are listed then.
   * Default: broken refs are left out, and a broken `packed-refs` is an error.
   */
  damaged?: (damage: RefDamage) => void;
};

/**
 * The mutable half of a repository, and the only place where concurrency lives.
 *
 * Implementations: `stores/disk/` (reads git's files; git writes), `stores/portable/` (in-process lock), `stores/native/` (git
 * reads and writes). All pass `test/contracts/ref-store.ts`.
 */
export interface RefStore {
  /** Reads a ref, following symbolic refs; `undefined` if it does not exist (an unborn HEAD included). */
  read(name: RefName): Promise<ObjectId | undefined>;

  /**
   * Lists the refs below a prefix that ends in `/`, sorted by name (bytes), loose and packed together.
   * Broken refs and leftovers such as `x.lock` are not listed.
   * @param wanted saves the store work; the result is sorted, but may have more refs
   * @throws {BrokenPackedRefs} unless `wanted.damaged` is given
   */
  list(prefix: string, wanted?: WantedRefs): Promise<Ref[]>;

  /**
   * Changes several refs, or none: every expected value is compared under the locks of all of them
   * before the first is changed.
   *
   * A crash in the middle can leave some changed and some not (git's files backend can do no better): creations and updates
   * come first, deletions last, so that a ref that is renamed exists twice rather than not at all.
   * The new values are durable when this returns.
   * @throws {RefMoved} if one has another value; nothing is changed then
   * @throws {BrokenRef} {BrokenPackedRefs} if a ref is damaged, or damage may hide its value; nothing is changed then
   * @throws {RefLocked} (kind `conflict`) if another git holds a lock for longer than `lockTimeoutMs`
   * @throws {RefNameConflict} if `a` exists and `a/b` is created, or the other way round
   */
  update(edits: readonly RefEdit[]): Promise<void>;
}
