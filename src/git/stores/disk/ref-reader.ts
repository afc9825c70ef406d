import { join } from 'node:path';
import type { ObjectId } from '../../format/object-id.ts';
import { BrokenPackedRefs, BrokenRef } from '../../format/ref-errors.ts';
import { assertPrefix } from '../../format/ref-name.ts';
import type { RefDamage } from '../../format/ref-errors.ts';
import type { Ref, RefName, WantedRefs } from '../../ref-store.ts';
import type { RepositoryLocation } from '../../repository.ts';
import { realPath } from '../../repository/git-directory.ts';
import { hasLooseRef, listLooseRefs, readLooseRef } from './loose-refs.ts';
import { PackedRefs } from './packed-refs.ts';

/** As in git (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;
/** For these characters the order of UTF-16, by which strings compare, differs from that of bytes, by which git sorts. */
const highCharacters = /[\ud800-\uffff]/;

/** A ref at the end of a chain of symbolic refs; without `id` it does not exist. */
export type FollowedRef = { name: RefName; id: ObjectId | undefined };

/** Which packed refs are read. */
type PackedRange = Required<Pick<WantedRefs, 'startsWith' | 'notBefore' | 'lastPart' | 'last'>>;

/**
 * Reads refs: the loose ref first, then the packed one, because `git pack-refs` writes the packed ref before it removes the
 * loose one.
 */
export class RefReader {
  readonly packed: PackedRefs;
  readonly #location: RepositoryLocation;

  constructor(location: RepositoryLocation) {
    this.#location = location;
    // git follows a `packed-refs` that is a symbolic link and locks the file behind it.
    this.packed = new PackedRefs(realPath(join(location.commonDir, 'packed-refs')));
  }

  /**
   * Follows symbolic refs to the last one, which has a value or does not exist.
   *
   * @throws {BrokenRef} if a ref on the way is broken, or the chain does not end
   */
  follow(name: RefName): FollowedRef {
    let current = name;
    for (let depth = 0; depth <= MAX_SYMBOLIC_DEPTH; depth++) {
      const loose = readLooseRef(this.#location, current);
      if (loose === undefined) return { name: current, id: this.packed.find(current) };
      if (loose.kind === 'id') return { name: current, id: loose.id };
      current = loose.target;
    }
    throw new BrokenRef(name, 'its chain of symbolic refs does not end');
  }

  /**
   * The refs below a prefix that ends in `/`, sorted by their bytes; broken refs are reported to `damaged`.
   *
   * Loose refs that are not wanted are not read.
   * @throws {InvalidRefName} if no ref can be below the prefix
   * @throws {BrokenPackedRefs} unless `damaged` is given
   */
  list(prefix: string, { last = Infinity, ...wanted }: WantedRefs = {}): Ref[] {
    const { startsWith = prefix, notBefore = startsWith, lastPart = '', where, damaged } = wanted;
    assertPrefix(prefix);
    const isWanted = (name: RefName): boolean =>
      name.startsWith(startsWith) &&
      name >= notBefore &&
      name.startsWith(lastPart, name.lastIndexOf('/') + 1) &&
      where?.(name) !== false;
    // Loose refs first, or a ref that is packed in between would be in neither list.
    const badName = damaged && ((name: string): void => damaged(new BrokenRef(name, 'git allows no such name')));
    const loose = listLooseRefs(this.#location, prefix, badName).filter(isWanted);
    const isLoose = new Set<string>(loose);
    const report =
      damaged &&
      ((damage: RefDamage): void => {
        // A packed value counts only if there is no loose ref.
        if (!(damage instanceof BrokenRef && isLoose.has(damage.ref))) damaged(damage);
      });
    const range = { startsWith, notBefore, lastPart, last: where === undefined ? last : Infinity };
    const packed = this.#packedBelow(prefix, range, report).filter(({ name }) => isWanted(name));
    if (loose.length === 0) return packed.slice(-last);
    const refs = packed.filter(({ name }) => !isLoose.has(name));
    // Each candidate is a file to read.
    const candidates = inByteOrder(loose, (name) => name).slice(-last);
    for (const name of candidates) {
      const id = this.#valueOf(name, damaged);
      if (id !== undefined) refs.push({ name, id });
      // A broken ref makes room for another one among the last.
      else if (last !== Infinity) return this.list(prefix, wanted).slice(-last);
    }
    return inByteOrder(refs, ({ name }) => name).slice(-last);
  }

  /** Tells whether there is a ref of this name, sound or broken. */
  exists(name: RefName): boolean {
    return hasLooseRef(this.#location, name) || this.packed.find(name) !== undefined;
  }

  /** The first ref there is below `name/`, or `undefined`. */
  firstBelow(name: RefName): string | undefined {
    const [loose] = listLooseRefs(this.#location, `${name}/`);
    if (loose !== undefined) return loose;
    return this.packed.below(`${name}/`)[0]?.name;
  }

  #packedBelow(
    prefix: string,
    { startsWith, notBefore, lastPart, last }: PackedRange,
    damaged: WantedRefs['damaged'],
  ): Ref[] {
    if (damaged !== undefined && this.packed.isEmptyFile()) {
      damaged(new BrokenPackedRefs(this.packed.path, 'it is empty, which git never leaves it'));
    }
    try {
      if (lastPart !== '') {
        return inByteOrder(this.packed.withPartBelow(prefix, lastPart, damaged), ({ name }) => name);
      }
      return last === Infinity
        ? this.packed.below(startsWith, damaged, notBefore)
        : this.packed.lastBelow(startsWith, last, damaged);
    } catch (error) {
      if (damaged === undefined || !(error instanceof BrokenPackedRefs)) throw error;
      damaged(error);
      return this.packed.readableBelow(startsWith);
    }
  }

  #valueOf(name: RefName, damaged: WantedRefs['damaged']): ObjectId | undefined {
    try {
      const { name: end, id } = this.follow(name);
      // A ref that leads nowhere else has just been removed.
      if (id === undefined && end !== name) damaged?.(new BrokenRef(name, `it leads to ${end}, which is not there`));
      return id;
    } catch (error) {
      if (!(error instanceof BrokenRef)) throw error;
      damaged?.(new BrokenRef(name, error.reason));
      return undefined;
    }
  }
}

function inByteOrder<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  if (items.some((item) => highCharacters.test(nameOf(item)))) {
    return items.toSorted((a, b) => Buffer.compare(Buffer.from(nameOf(a)), Buffer.from(nameOf(b))));
  }
  return items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
