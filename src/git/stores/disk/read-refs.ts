import { readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../../or-else.ts';
import { errnoOf } from '../../format/object-errors.ts';
import type { ObjectId } from '../../format/object-id.ts';
import { BrokenPackedRefs, BrokenRef, type RefDamage } from '../../format/ref-errors.ts';
import { isPassedOver, parseLooseRef, type LooseRef } from '../../format/ref-files.ts';
import { assertPrefix, isRefName } from '../../format/ref-name.ts';
import type { Ref, RefName, WantedRefs } from '../../ref-store.ts';
import { realPath } from '../../repository/git-directory.ts';
import type { RepositoryLocation } from '../../repository.ts';
import { FileRefused, readRegularFile } from '../../system/read-regular-file.ts';
import { PackedRefs } from './packed-refs.ts';

/** As in git (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;
/** For these characters the order of UTF-16, by which strings compare, differs from that of bytes, by which git sorts. */
const highCharacters = /[\ud800-\uffff]/;

/** A ref at the end of a chain of symbolic refs; without `id` it does not exist. */
type FollowedRef = { name: RefName; id: ObjectId | undefined };

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

/** There is no file of this name: nothing, a folder, or a file in place of its folder. */
const absences = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'EISDIR']);
/** The file is there, and cannot be read. */
const unreadable = new Set<string | undefined>(['EACCES', 'EPERM', 'EIO']);
/** More than any ref name with text after it. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads the file of a ref; `undefined` if it has none.
 *
 * @throws {BrokenRef} if the file holds neither an id nor the name of a ref
 */
function readLooseRef(location: RepositoryLocation, name: RefName): LooseRef | undefined {
  let text: string;
  try {
    text = readRegularFile(refPath(location, name), MAX_BYTES).toString('utf8');
  } catch (error) {
    if (error instanceof FileRefused) throw new BrokenRef(name, `its file ${error.reason}`);
    const code = errnoOf(error);
    if (absences.has(code)) return undefined;
    if (unreadable.has(code)) throw new BrokenRef(name, `its file cannot be read (${code})`);
    throw error;
  }
  return parseLooseRef(name, text);
}

/**
 * The names of the refs below a prefix (ending in `/`) that have files, in no order; locks left out.
 *
 * @param badName is called for files whose names are not ref names
 */
function listLooseRefs(location: RepositoryLocation, prefix: string, badName?: BadName): RefName[] {
  const found = { names: [], badName };
  const ofWorktree = isOwnOfWorktree(prefix);
  collect(ofWorktree ? location.gitDir : location.commonDir, prefix, ofWorktree, found);
  for (const own of worktreePrefixesBelow(prefix)) collect(location.gitDir, own, true, found);
  return found.names;
}

type BadName = (name: string) => void;
type Found = { names: RefName[]; badName: BadName | undefined };

function collect(root: string, prefix: string, ofWorktree: boolean, found: Found): void {
  const list = (): Dirent[] => readdirSync(join(root, prefix), { withFileTypes: true });
  for (const entry of orElse(list, [], (error) => absences.has(errnoOf(error)))) {
    const name = prefix + entry.name;
    if (entry.isDirectory()) {
      if (isOwnOfWorktree(`${name}/`) === ofWorktree) collect(root, `${name}/`, ofWorktree, found);
    } else if (isRefName(name)) {
      found.names.push(name);
    } else if (!isPassedOver(name)) {
      found.badName?.(name);
    }
  }
}

/** Prefixes of refs that every linked worktree has for itself, like `HEAD` and other pseudo refs. */
const ownOfWorktree: readonly string[] = ['refs/bisect/', 'refs/worktree/', 'refs/rewritten/'];

/**
 * The file of a loose ref.
 *
 * Source: gitrepository-layout(5), git-worktree(1) "Refs".
 */
export function refPath(location: RepositoryLocation, name: RefName): string {
  return join(isOwnOfWorktree(name) ? location.gitDir : location.commonDir, name);
}

/** Tells whether a ref, or every ref below a prefix that ends in `/`, belongs to one worktree. */
function isOwnOfWorktree(name: string): boolean {
  return !name.startsWith('refs/') || ownOfWorktree.some((prefix) => name.startsWith(prefix));
}

/** The prefixes below `prefix` whose refs are in the folder of the worktree. */
function worktreePrefixesBelow(prefix: string): readonly string[] {
  return ownOfWorktree.filter((own) => own !== prefix && own.startsWith(prefix));
}
