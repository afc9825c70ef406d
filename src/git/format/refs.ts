import { isWellFormed } from '../../text/wording.ts';
import type { Ref, RefName, WantedRefs } from '../repository.ts';
import { type ObjectId, toObjectId } from './object-id.ts';
import { BrokenPackedRefs, BrokenRef, InvalidRefName } from './errors.ts';

const pseudoRef = /^[A-Z][A-Z_]*$/;
// oxlint-disable-next-line no-control-regex -- git forbids exactly these bytes
const forbiddenCharacter = /[\u0000-\u0020\u007f~^:?*[\\]/;

/**
 * Checks a full ref name: one below `refs/` that `git check-ref-format` accepts, or a pseudo ref such as `HEAD`.
 *
 * Names outside `refs/` that `check-ref-format` alone would accept (`objects/pack/x`) are refused: a ref is a file in the git
 * folder, and writing it would overwrite a file that is no ref.
 * @throws {InvalidRefName} naming the rule that is broken
 * Source: git-check-ref-format(1), `refname_is_safe` in git's refs.c.
 */
export function parseRefName(text: string): RefName {
  if (!isRefName(text)) throw new InvalidRefName(text, whyInvalid(text) ?? '');
  return text;
}

/** Checks a prefix of refs that are to be listed: it ends in `/`, and refs can be below it. @throws {InvalidRefName} */
export function assertPrefix(prefix: string): void {
  if (!prefix.endsWith('/')) throw new InvalidRefName(prefix, "a prefix to list ends in '/'");
  if (!isRefName(`${prefix}x`)) throw new InvalidRefName(prefix, 'no ref can be below it');
}

export function isRefName(text: string): text is RefName {
  return whyInvalid(text) === undefined;
}

function whyInvalid(text: string): string | undefined {
  if (pseudoRef.test(text)) return undefined;
  if (!text.startsWith('refs/')) return "it does not start with 'refs/'";
  if (!isWellFormed(text)) return 'it is not well-formed Unicode';
  if (forbiddenCharacter.test(text)) return 'it holds a space, a control character or one of ~^:?*[\\';
  if (text.includes('..')) return "it holds '..'";
  if (text.includes('@{')) return "it holds '@{'";
  if (text.endsWith('.')) return 'it ends with a dot';
  for (const component of text.split('/')) {
    if (component === '') return 'it has an empty component';
    if (component.startsWith('.')) return 'a component starts with a dot';
    if (component.endsWith('.lock')) return "a component ends with '.lock'";
  }
  return undefined;
}

/** The content of a loose ref: an object, or another ref. */
export type LooseRef = { kind: 'id'; id: ObjectId } | { kind: 'symbolic'; target: RefName };

/** The id that git writes for no object. */
const NULL_ID: RegExp = /^0+$/;

const content = /^(?:ref:\s*(\S+)|([0-9A-Fa-f]+))(?:\s|$)/;

/**
 * Parses the file of a ref.
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

/** Called for every line that git cannot read; throws to stop. */
type OnBroken = (error: BrokenPackedRefs) => void;

const newline = 0x0a;
const comment = 0x23;
const peeled = 0x5e;
const space = 0x20;
/** Of SHA-1 and of SHA-256. */
const idLengths = [40, 64];
/** A shorter part is read through instead of halved. */
const scannedBytes = 4096;
/** The length of the line of a thread. */
const usualLineBytes = 96;
/** How much of a damaged line an error quotes. */
const shownBytes = 60;
const noEnd = 'its last line has no end';
/** Names that are obviously valid, as nearly all are; the full check takes ten times as long. */
const plainName = /^refs(?:\/[0-9A-Za-z_-]+)+$/;

/**
 * The lines of a `packed-refs` file, found by binary search. The header and peeled tags (`^…`) are skipped.
 *
 * A line that git cannot read is an error where it is met: lines after it may be lost, and a binary search would go wrong.
 * Source: refs/packed-backend.c of git ("packed-refs file format").
 */
export class PackedRefsLines {
  readonly #path: string;
  readonly #bytes: Buffer;
  readonly #isSorted: boolean;

  /** @param bytes the whole file */
  constructor(path: string, bytes: Buffer) {
    this.#path = path;
    this.#bytes = bytes;
    const header = bytes.toString('latin1', 0, scannedBytes).split('\n', 1)[0] ?? '';
    this.#isSorted = header.startsWith('# pack-refs with:') && header.split(' ').includes('sorted');
  }

  /** Checks that the last line has an end, first of all: after a write that was cut off, refs are lost. */
  get brokenEnd(): BrokenPackedRefs | undefined {
    if (this.#bytes.length === 0 || this.#bytes.at(-1) === newline) return undefined;
    return this.#broken(this.#bytes.subarray(this.#bytes.lastIndexOf(newline) + 1), noEnd);
  }

  /** The lines from the first name on that is not before `name`, in byte order. */
  fromName(name: string): Iterable<PackedLine> {
    const wanted = Buffer.from(name);
    const isBefore = (line: PackedLine): boolean => Buffer.compare(Buffer.from(line.name), wanted) < 0;
    if (this.#isSorted) return this.from(this.#firstThatIsNot(isBefore));
    const later = [...this.from(0)].filter((line) => !isBefore(line));
    return later.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  /** The last `count` lines whose names start with a prefix, in order. */
  lastWithPrefix(prefix: string, count: number): PackedLine[] {
    if (!this.#isSorted) {
      return [...this.fromName(prefix)].filter(({ name }) => name.startsWith(prefix)).slice(-count);
    }
    const wanted = Buffer.from(prefix);
    const end = this.#firstThatIsNot(
      ({ name }) => Buffer.compare(Buffer.from(name).subarray(0, wanted.length), wanted) <= 0,
    );
    for (let bytes = Math.max(scannedBytes, count * usualLineBytes); ; bytes *= 4) {
      const start = bytes < end ? this.#bytes.indexOf(newline, end - bytes) + 1 : 0;
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
    for (let at = this.#bytes.indexOf(wanted); at !== -1; at = this.#bytes.indexOf(wanted, at)) {
      const [line] = this.from(this.#bytes.lastIndexOf(newline, at) + 1);
      if (line !== undefined) yield line;
      at = this.#endOfLine(at);
    }
  }

  /** The lines in the order of the file, from the beginning of a line on. */
  *from(start: number, onBroken: OnBroken = raise): Generator<PackedLine> {
    const bytes = this.#bytes;
    for (let at = start, end = 0; at < bytes.length; at = end + 1) {
      end = bytes.indexOf(newline, at);
      if (end === -1) return onBroken(this.#broken(bytes.subarray(at), noEnd));
      const idLength = idLengths.find((length) => bytes[at + length] === space) ?? 0;
      const id = toObjectId(bytes.toString('latin1', at, at + idLength));
      if (id !== undefined) {
        yield { id, name: bytes.toString('utf8', at + idLength + 1, end), start: at, end: end + 1 };
      } else if (bytes[at] !== peeled && !(bytes[at] === comment && at === 0)) {
        onBroken(this.#broken(bytes.subarray(at, end)));
      }
    }
  }

  #broken(line: Uint8Array, what: string = 'it has a line that git cannot read'): BrokenPackedRefs {
    const text = JSON.stringify(Buffer.from(line.subarray(0, shownBytes)).toString('latin1'));
    return new BrokenPackedRefs(this.#path, `${what}: ${text}${line.length > shownBytes ? '…' : ''}`);
  }

  /** The beginning of the first line of which a statement is false that is true of all lines before it; else the end of the file. */
  #firstThatIsNot(isBefore: (line: PackedLine) => boolean): number {
    let low = 0;
    let high = this.#bytes.length;
    while (high - low > scannedBytes) {
      const middle = (low + high) >>> 1;
      const [line] = this.from(this.#endOfLine(middle) + 1);
      if (line !== undefined && isBefore(line)) low = line.end;
      else high = middle;
    }
    for (const line of this.from(low)) if (!isBefore(line)) return line.start;
    return this.#bytes.length;
  }

  #endOfLine(position: number): number {
    const end = this.#bytes.indexOf(newline, position);
    return end === -1 ? this.#bytes.length : end;
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
 * @throws {BrokenPackedRefs} if one of them is in it and any line is damaged: a broken file is not rewritten
 */
export function withoutRefs(path: string, whole: Buffer, names: ReadonlySet<string>): Buffer | undefined {
  // Most refs are not packed when they are deleted.
  if (![...names].some((name) => whole.includes(` ${name}\n`))) return undefined;
  const kept: Buffer[] = [];
  let keptUntil = 0;
  for (const line of new PackedRefsLines(path, whole).from(0)) {
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
