import { type BigIntStats, closeSync, type Dirent, fstatSync, openSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../../or-else.ts';
import { BrokenPackedRefs, BrokenRef, errnoOf, isNotThere, type RefDamage } from '../../format/errors.ts';
import type { ObjectId } from '../../format/object-id.ts';
import {
  assertPrefix,
  isPassedOver,
  isRefName,
  type LooseRef,
  type PackedLine,
  PackedRefsLines,
  parseLooseRef,
  soundRefs,
} from '../../format/refs.ts';
import type { Ref, RefName, RepositoryLocation, WantedRefs } from '../../repository.ts';
import { realPath } from '../../repository/git-directory.ts';
import { FileRefused, findStats, READ, readAt, readRegularFile } from '../../system/files.ts';

/** As in git (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;
/** For these characters the order of UTF-16, by which strings compare, differs from that of bytes, by which git sorts. */
const highCharacters = /[\ud800-\uffff]/;

/** A ref at the end of a chain of symbolic refs; without `id` it does not exist. */
type FollowedRef = { name: RefName; id: ObjectId | undefined };

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

/** Reads the file of a ref; `undefined` if it has none. @throws as {@link parseLooseRef} */
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

/** The file of a loose ref. Source: gitrepository-layout(5), git-worktree(1) "Refs". */
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

/** One version of the file: git replaces the file, so an open file does not change. */
type Snapshot = {
  descriptor: number;
  stats: BigIntStats;
  lines: PackedRefsLines;
  broken: BrokenPackedRefs | undefined;
};

/** A larger file is not git's: that would be ten million refs. */
const MAX_PACKED_BYTES = 2 ** 30;
type Damaged = WantedRefs['damaged'];

/**
 * The refs of a `packed-refs` file, which is read once for each of its versions, and not parsed: they are found by binary search.
 *
 * Every use first checks whether git has replaced the file. Damage that a use meets raises {@link BrokenPackedRefs}; only
 * {@link readableBelow} skips it.
 * Source: git-pack-refs(1); refs/packed-backend.c of git for the format.
 */
export class PackedRefs {
  readonly path: string;
  #snapshot: Snapshot | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** @throws {BrokenRef} if it exists and names no object */
  find(name: RefName): ObjectId | undefined {
    for (const line of this.#linesFrom(name)) {
      if (line.name !== name) return undefined;
      const refs = soundRefs([line], (damage) => {
        throw damage;
      });
      return refs[0]?.id;
    }
    return undefined;
  }

  /** The refs below a prefix (ending in `/`), sorted by their bytes, from the first that is not before a name. */
  below(prefix: string, damaged?: Damaged, notBefore: string = prefix): Ref[] {
    const lines: PackedLine[] = [];
    for (const line of this.#linesFrom(notBefore > prefix ? notBefore : prefix)) {
      if (!line.name.startsWith(prefix)) break;
      lines.push(line);
    }
    return soundRefs(lines, damaged);
  }

  /** The refs below a prefix (ending in `/`) whose names have a part that begins so, in the order of the file. */
  withPartBelow(prefix: string, part: string, damaged?: Damaged): Ref[] {
    const lines = [...(this.#readable()?.lines.withPart(part) ?? [])];
    const within = lines.filter(({ name }) => name.startsWith(prefix));
    return soundRefs(within, damaged);
  }

  /** Reads as {@link below} does, from a broken file, by reading all of it. */
  readableBelow(prefix: string): Ref[] {
    const lines = [...(this.#current()?.lines.from(0, () => {}) ?? [])].filter(({ name }) => name.startsWith(prefix));
    return soundRefs(lines, undefined);
  }

  /** Tells whether the file exists and is empty: git writes at least a header. */
  isEmptyFile(): boolean {
    return this.#current()?.stats.size === 0n;
  }

  /** The last `count` refs below a prefix, sorted by their bytes. The prefix need not end in `/`. */
  lastBelow(prefix: string, count: number, damaged?: Damaged): Ref[] {
    for (let most = count; ; most *= 4) {
      const lines = this.#readable()?.lines.lastWithPrefix(prefix, most) ?? [];
      const refs = soundRefs(lines, undefined);
      // Some of the last lines are no valid refs: take others.
      if (refs.length < count && lines.length === most) continue;
      soundRefs(lines, damaged);
      return refs.slice(-count);
    }
  }

  close(): void {
    if (this.#snapshot !== undefined) closeSync(this.#snapshot.descriptor);
    this.#snapshot = undefined;
  }

  #linesFrom(name: string): Iterable<PackedLine> {
    return this.#readable()?.lines.fromName(name) ?? [];
  }

  #readable(): Snapshot | undefined {
    const snapshot = this.#current();
    if (snapshot?.broken !== undefined) throw snapshot.broken;
    return snapshot;
  }

  #current(): Snapshot | undefined {
    const known = this.#snapshot;
    const stats = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    // While the file is open, no other file can get its inode, so an equal inode means the same file.
    if (known !== undefined && stats !== undefined && isSame(known.stats, stats)) return known;
    this.close();
    if (stats === undefined) return undefined;
    const descriptor = orElse(() => openSync(this.path, READ), undefined, isNotThere);
    if (descriptor === undefined) return undefined;
    const opened = fstatSync(descriptor, { bigint: true });
    const isTooLarge = opened.size > MAX_PACKED_BYTES;
    const whole = readAt(descriptor, Buffer.allocUnsafeSlow(isTooLarge ? 0 : Number(opened.size)), 0);
    const lines = new PackedRefsLines(this.path, whole);
    const broken = isTooLarge ? new BrokenPackedRefs(this.path, 'it has more than 1 GiB') : lines.brokenEnd;
    this.#snapshot = { descriptor, stats: opened, lines, broken };
    return this.#snapshot;
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

/** The clock of a file system moves in steps: a change within one step of a look may not change the time. */
export const CLOCK_STEP_MS = 50;

/**
 * Watches whether refs of a repository change, without reading any.
 *
 * Compares the times of `packed-refs` and of the folders of loose refs, one of which every change of a ref updates. May
 * report a change where there is none, but misses none.
 * @param prefixes whole folders, such as `refs/threads/`
 * @returns a function that tells whether refs may have changed since its last call; true for the first call
 */
export function watchRefs(commonDir: string, prefixes: readonly string[]): () => boolean {
  let last: string | undefined = '';
  return () => {
    const stamp = refTimes(commonDir, prefixes);
    const hasChanged = stamp === undefined || stamp !== last;
    last = stamp;
    return hasChanged;
  };
}

/**
 * The times of `packed-refs` and of the folders of loose refs, as a text: equal texts mean that no ref has changed.
 * `undefined` right after a change, when another one might not show.
 */
export function refTimes(commonDir: string, prefixes: readonly string[]): string | undefined {
  const times = new Map([['packed-refs', timeOf(join(commonDir, 'packed-refs'))]]);
  for (const prefix of prefixes) addTimes(commonDir, prefix.replace(/\/$/, ''), times);
  return Date.now() - Math.max(...times.values()) < CLOCK_STEP_MS ? undefined : JSON.stringify([...times]);
}

function addTimes(commonDir: string, folder: string, times: Map<string, number>): void {
  const path = join(commonDir, folder);
  const timeMs = timeOf(path);
  if (timeMs === 0) return;
  times.set(folder, timeMs);
  // git and uwf remove empty folders at any moment. The time of the folder above shows that.
  const list = (): Dirent[] => readdirSync(path, { withFileTypes: true });
  for (const entry of orElse(list, [], isNotThere)) {
    if (entry.isDirectory()) addTimes(commonDir, `${folder}/${entry.name}`, times);
  }
}

function timeOf(path: string): number {
  return findStats(path)?.mtimeMs ?? 0;
}
