import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { isNotThere } from '../../format/object-errors.ts';
import { orElse } from '../../../or-else.ts';
import type { ObjectId } from '../../format/object-id.ts';
import { READ } from '../../system/read-regular-file.ts';
import type { Ref, RefName, WantedRefs } from '../../ref-store.ts';
import { readAt } from '../../system/read-at.ts';
import { PackedRefsLines, soundRefs, type PackedLine } from '../../format/ref-files.ts';

/** One version of the file: git replaces the file, so an open file does not change. */
type Snapshot = { descriptor: number; stats: BigIntStats; lines: PackedRefsLines };
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
    const broken = snapshot?.lines.brokenEnd;
    if (broken !== undefined) throw broken;
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
    const whole = readAt(descriptor, Buffer.allocUnsafeSlow(Number(opened.size)), 0);
    this.#snapshot = { descriptor, stats: opened, lines: new PackedRefsLines(this.path, whole) };
    return this.#snapshot;
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}
