import { UwfError } from '../errors.ts';
import type { ObjectId } from './format/object-id.ts';
import type { RefDamage } from './format/ref-errors.ts';

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
