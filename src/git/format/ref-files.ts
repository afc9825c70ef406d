import type { Ref, RefName, WantedRefs } from '../ref-store.ts';
import { toObjectId, type ObjectId } from './object-id.ts';
import { BrokenPackedRefs, BrokenRef } from './ref-errors.ts';
import { isRefName } from './ref-name.ts';

/** The content of a loose ref: an object, or another ref. */
export type LooseRef = { kind: 'id'; id: ObjectId } | { kind: 'symbolic'; target: RefName };

/** The id that git writes for no object. */
const NULL_ID: RegExp = /^0+$/;

const content = /^(?:ref:\s*(\S+)|([0-9A-Fa-f]+))(?:\s|$)/;

/**
 * Parses the file of a ref.
 *
 * @throws {BrokenRef} if it holds neither an id nor the name of a ref
 * Source: gitrepository-layout(5); `parse_loose_ref_contents` in git's refs/files-backend.c.
 */
export function parseLooseRef(name: RefName, text: string): LooseRef {
  const [, target, digits = ''] = content.exec(text) ?? [];
  if (NULL_ID.test(digits)) throw new BrokenRef(name, 'its file holds the id of no object');
  const id = toObjectId(digits);
  if (id !== undefined) return { kind: 'id', id };
  if (target !== undefined && isRefName(target)) return { kind: 'symbolic', target };
  throw new BrokenRef(name, text === '' ? 'its file is empty' : 'its file holds neither an object id nor a ref');
}

/** Tells whether git ignores a file among the refs without a warning. */
export function isPassedOver(path: string): boolean {
  return /\.lock$|\/\./.test(path);
}

/** One ref of the file; `start` and `end` (behind the newline) say where its line lies. */
export type PackedLine = { id: ObjectId; name: string; start: number; end: number };

/** Where the bytes are; `read` gives fewer of them at the end. */
type Source = { path: string; size: number; read(position: number, length: number): Buffer };
/** Called for every line that git cannot read; throws to stop. */
type OnBroken = (error: BrokenPackedRefs) => void;

const newline = 0x0a;
const comment = 0x23;
const peeled = 0x5e;
const space = 0x20;
/** Of SHA-1 and of SHA-256. */
const idLengths = [40, 64];
/** A shorter part is read through instead of halved. */
const scanBytes = 4096;
/** The length of the line of a thread. */
const usualLineBytes = 96;
const MAX_CHUNK_BYTES = 1024 * 1024;
/** How much of a damaged line an error quotes. */
const shownBytes = 60;
const noEnd = 'its last line has no end';
/** Names that are obviously valid, as nearly all are; the full check takes ten times as long. */
const plainName = /^refs(?:\/[0-9A-Za-z_-]+)+$/;

/**
 * The lines of a `packed-refs` file, read in chunks from any position. The header and peeled tags (`^…`) are skipped.
 *
 * A line that git cannot read is an error where it is met: lines after it may be lost, and a binary search would go wrong.
 * Source: refs/packed-backend.c of git ("packed-refs file format").
 */
export class PackedRefsLines {
  readonly #source: Source;
  readonly #isSorted: boolean;

  constructor(source: Source) {
    this.#source = source;
    const header = source.read(0, scanBytes).toString('latin1').split('\n', 1)[0] ?? '';
    this.#isSorted = header.startsWith('# pack-refs with:') && header.split(' ').includes('sorted');
  }

  /** @throws {BrokenPackedRefs} on use, where a line that is met is none */
  static ofBuffer(path: string, whole: Buffer): PackedRefsLines {
    const read = (position: number, length: number): Buffer => whole.subarray(position, position + length);
    return new PackedRefsLines({ path, size: whole.byteLength, read });
  }

  /** Checks that the last line has an end, first of all: after a write that was cut off, refs are lost. */
  get brokenEnd(): BrokenPackedRefs | undefined {
    const last = this.#source.read(Math.max(0, this.#source.size - scanBytes), scanBytes);
    if (last.length === 0 || last.at(-1) === newline) return undefined;
    return this.#broken(last.subarray(last.lastIndexOf(newline) + 1), noEnd);
  }

  /** The lines from the first name on that is not before `name`, in byte order. */
  fromName(name: string): Iterable<PackedLine> {
    const wanted = Buffer.from(name);
    const isBefore = (line: PackedLine): boolean => Buffer.compare(Buffer.from(line.name), wanted) < 0;
    if (!this.#isSorted) {
      const later = [...this.from(0)].filter((line) => !isBefore(line));
      return later.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    }
    for (const line of this.from(this.#seek(isBefore))) {
      if (!isBefore(line)) return this.from(line.start);
    }
    return [];
  }

  /** The last `count` lines whose names start with a prefix, in order. */
  lastWithPrefix(prefix: string, count: number): PackedLine[] {
    if (!this.#isSorted) {
      return [...this.fromName(prefix)].filter(({ name }) => name.startsWith(prefix)).slice(-count);
    }
    const wanted = Buffer.from(prefix);
    const isNotBehind = ({ name }: PackedLine): boolean =>
      Buffer.compare(Buffer.from(name).subarray(0, wanted.length), wanted) <= 0;
    let end = this.#source.size;
    for (const line of this.from(this.#seek(isNotBehind))) {
      if (isNotBehind(line)) continue;
      end = line.start;
      break;
    }
    for (let bytes = Math.max(scanBytes, count * usualLineBytes); ; bytes *= 4) {
      const start = bytes < end ? (this.#firstLineBehind(end - bytes)?.start ?? 0) : 0;
      const lines: PackedLine[] = [];
      for (const line of this.from(start)) {
        if (line.start >= end) break;
        lines.push(line);
      }
      const within = lines.filter(({ name }) => name.startsWith(prefix));
      if (start === 0 || within.length >= count || within.length < lines.length) return within.slice(-count);
    }
  }

  /**
   * The lines whose names have a part that begins with this, in the order of the file. They are found by their bytes, so that the
   * others cost next to nothing, and damage in those is not met.
   */
  *withPart(part: string): Generator<PackedLine> {
    const wanted = Buffer.from(`/${part}`);
    let position = 0;
    while (position < this.#source.size) {
      const chunk = this.#source.read(position, MAX_CHUNK_BYTES);
      // The file has become shorter since its size was read.
      if (chunk.length === 0) throw this.#broken(chunk, noEnd);
      const end = chunk.lastIndexOf(newline) + 1;
      const lines = PackedRefsLines.ofBuffer(this.#source.path, chunk.subarray(0, end));
      for (let at = chunk.indexOf(wanted); at !== -1 && at < end; at = chunk.indexOf(wanted, at)) {
        const [line] = lines.from(chunk.subarray(0, at).lastIndexOf(newline) + 1);
        if (line !== undefined) yield { ...line, start: position + line.start, end: position + line.end };
        at = chunk.indexOf(newline, at);
      }
      // A line that the chunk cuts off is read again; one as long as a chunk is none.
      position += end > 0 ? end : chunk.length;
    }
  }

  /** The lines in the order of the file, from the beginning of a line on. */
  *from(start: number, onBroken: OnBroken = raise): Generator<PackedLine> {
    let position = start;
    for (let length = scanBytes; position < this.#source.size; length = Math.min(length * 4, MAX_CHUNK_BYTES)) {
      const chunk = this.#source.read(position, length);
      let at = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, at)) {
        const first = chunk[at];
        const idLength = idLengths.find((length) => chunk[at + length] === space) ?? 0;
        const id = toObjectId(chunk.toString('latin1', at, at + idLength));
        if (id !== undefined) {
          const name = chunk.toString('utf8', at + idLength + 1, end);
          yield { id, name, start: position + at, end: position + end + 1 };
        } else if (first !== peeled && !(first === comment && position + at === 0)) {
          onBroken(this.#broken(chunk.subarray(at, end)));
        }
        at = end + 1;
      }
      if (at === 0 && position + chunk.length >= this.#source.size) return onBroken(this.#broken(chunk, noEnd));
      if (at === 0 && length === MAX_CHUNK_BYTES) return onBroken(this.#broken(chunk));
      position += at;
    }
  }

  #broken(line: Uint8Array, what: string = 'it has a line that git cannot read'): BrokenPackedRefs {
    const text = JSON.stringify(Buffer.from(line.subarray(0, shownBytes)).toString('latin1'));
    return new BrokenPackedRefs(this.#source.path, `${what}: ${text}${line.length > shownBytes ? '…' : ''}`);
  }

  /** The beginning of a line before which there are only earlier names, close to the first later name. */
  #seek(isBefore: (line: PackedLine) => boolean): number {
    let low = 0;
    let high = this.#source.size;
    while (high - low > scanBytes) {
      const middle = low + Math.floor((high - low) / 2);
      const line = this.#firstLineBehind(middle);
      if (line !== undefined && isBefore(line)) low = line.end;
      else high = middle;
    }
    return low;
  }

  #firstLineBehind(position: number): PackedLine | undefined {
    const end = this.#source.read(position, scanBytes).indexOf(newline);
    if (end === -1) throw this.#broken(this.#source.read(position, scanBytes));
    for (const line of this.from(position + end + 1)) return line;
    return undefined;
  }
}

/** The refs of some lines; a line that git would not take for a ref is left out and reported to `damaged`. */
export function soundRefs(lines: Iterable<PackedLine>, damaged: WantedRefs['damaged']): Ref[] {
  return [...lines].flatMap(({ id, name }): Ref[] => {
    if (!isName(name)) damaged?.(new BrokenRef(name, 'git allows no such name'));
    else if (NULL_ID.test(id)) damaged?.(new BrokenRef(name, 'its line in packed-refs holds the id of no object'));
    else return [{ name, id }];
    return [];
  });
}

/**
 * The file without some refs; `undefined` if none of them is in it. All other bytes are unchanged.
 *
 * @throws {BrokenPackedRefs} if one of them is in it and any line is damaged: a broken file is not rewritten
 */
export function withoutRefs(path: string, whole: Buffer, names: ReadonlySet<string>): Buffer | undefined {
  // Most refs are not packed when they are deleted.
  if (![...names].some((name) => whole.includes(` ${name}\n`))) return undefined;
  const kept: Buffer[] = [];
  let keptUntil = 0;
  for (const line of PackedRefsLines.ofBuffer(path, whole).from(0)) {
    if (!names.has(line.name)) continue;
    kept.push(whole.subarray(keptUntil, line.start));
    keptUntil = line.end;
    // The peeled value of an annotated tag is a line of its own, which is removed with it.
    if (whole[keptUntil] === peeled) keptUntil = whole.indexOf(newline, keptUntil) + 1;
  }
  return keptUntil === 0 ? undefined : Buffer.concat([...kept, whole.subarray(keptUntil)]);
}

function isName(text: string): text is RefName {
  return plainName.test(text) || isRefName(text);
}

function raise(error: BrokenPackedRefs): never {
  throw error;
}
