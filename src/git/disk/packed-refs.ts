import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { errnoOf } from '../object-errors.ts';
import { isObjectId } from '../object-id.ts';
import type { ObjectId } from '../object-id.ts';
import { isRefName } from '../ref-name.ts';
import type { Ref, RefName } from '../ref-store.ts';
import { readAt } from './open-files.ts';
import { PackedRefsLines } from './packed-refs-lines.ts';
import type { PackedLine } from './packed-refs-lines.ts';

/** One state of the file: git never changes it in place, so what is open stays as it was. */
type Snapshot = { descriptor: number; stats: BigIntStats; lines: PackedRefsLines; mode: number };

/** Names that are valid at first sight, as nearly all are; the full check takes ten times as long. */
const plainName = /^refs(?:\/[0-9A-Za-z_-]+)+$/;

/**
 * The refs of a `packed-refs` file, found by binary search so that 100,000 of them cost no more than a few.
 *
 * Before every use the file is compared with what is open; git replaces it beside us.
 * Source: git-pack-refs(1); refs/packed-backend.c of git for the format.
 */
export class PackedRefs {
  readonly path: string;
  #snapshot: Snapshot | undefined;

  constructor(path: string) {
    this.path = path;
  }

  find(name: RefName): ObjectId | undefined {
    for (const line of this.#linesFrom(name)) return line.name === name ? idOf(line) : undefined;
    return undefined;
  }

  /** The refs below a prefix (ending in `/`), sorted by their bytes; at most `limit` of them. */
  below(prefix: string, limit: number = Number.POSITIVE_INFINITY): Ref[] {
    const refs: Ref[] = [];
    for (const line of this.#linesFrom(prefix)) {
      if (refs.length >= limit || !line.name.startsWith(prefix)) break;
      const id = idOf(line);
      if (id !== undefined && isName(line.name)) refs.push({ name: line.name, id });
    }
    return refs;
  }

  /** The last so many refs below a prefix, sorted by their bytes. The prefix need not end in `/`. */
  lastBelow(prefix: string, count: number): Ref[] {
    for (let most = count; ; most *= 4) {
      const lines = this.#current()?.lines.lastWithPrefix(prefix, most) ?? [];
      const refs = lines.flatMap((line): Ref[] => {
        const id = idOf(line);
        return id !== undefined && isName(line.name) ? [{ name: line.name, id }] : [];
      });
      // What git does not take for a ref was among the last: others are.
      if (refs.length >= count || lines.length < most) return refs.slice(-count);
    }
  }

  /**
   * The file without some refs, and its permissions; `undefined` if none of them is in it.
   *
   * Everything else stays byte for byte. To be called under the file's lock.
   */
  without(names: ReadonlySet<string>): { content: Buffer; mode: number } | undefined {
    const snapshot = this.#current();
    if (snapshot === undefined) return undefined;
    const whole = readAt(snapshot.descriptor, Buffer.allocUnsafe(Number(snapshot.stats.size)), 0);
    const kept: Buffer[] = [];
    let keptUntil = 0;
    for (const line of PackedRefsLines.ofBuffer(whole).from(0)) {
      if (!names.has(line.name)) continue;
      kept.push(whole.subarray(keptUntil, line.start));
      keptUntil = line.end;
      // The object that an annotated tag leads to stands in a line of its own and goes with it.
      if (whole[keptUntil] === 0x5e) keptUntil = whole.indexOf(0x0a, keptUntil) + 1;
    }
    if (keptUntil === 0) return undefined;
    return { content: Buffer.concat([...kept, whole.subarray(keptUntil)]), mode: snapshot.mode };
  }

  close(): void {
    if (this.#snapshot !== undefined) closeSync(this.#snapshot.descriptor);
    this.#snapshot = undefined;
  }

  #linesFrom(name: string): Iterable<PackedLine> {
    return this.#current()?.lines.fromName(name) ?? [];
  }

  #current(): Snapshot | undefined {
    const known = this.#snapshot;
    const stats = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    // While it is open no other file can get its inode, so that equal means the same.
    if (known !== undefined && stats !== undefined && isSame(known.stats, stats)) return known;
    this.close();
    if (stats === undefined) return undefined;
    let descriptor: number;
    try {
      descriptor = openSync(this.path, 'r');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
    const opened = fstatSync(descriptor, { bigint: true });
    const lines = PackedRefsLines.ofFile(descriptor, Number(opened.size));
    this.#snapshot = { descriptor, stats: opened, lines, mode: Number(opened.mode & 0o777n) };
    return this.#snapshot;
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

function isName(text: string): text is RefName {
  return plainName.test(text) || isRefName(text);
}

function idOf(line: PackedLine): ObjectId | undefined {
  return isObjectId(line.id) ? line.id : undefined;
}
