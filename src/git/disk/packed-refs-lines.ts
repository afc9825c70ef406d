import { readAt } from './open-files.ts';

/** One ref of the file; `start` and `end` (behind the newline) say where its line lies. */
export type PackedLine = { id: string; name: string; start: number; end: number };

type Source = { size: number; read(position: number, length: number): Buffer };

const newline = 0x0a;
const comment = 0x23;
const peeled = 0x5e;
const space = 0x20;
/** What is no longer than this is read through rather than halved again. */
const scanBytes = 4096;
/** What the line of a thread takes. */
const usualLineBytes = 96;
const largestChunk = 1024 * 1024;

/**
 * The lines of a `packed-refs` file, read in chunks from any place on. Comments and peeled tags (`^…`) are passed over.
 *
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

  static ofFile(descriptor: number, size: number): PackedRefsLines {
    const read = (position: number, length: number): Buffer =>
      readAt(descriptor, Buffer.allocUnsafe(Math.max(0, Math.min(length, size - position))), position);
    return new PackedRefsLines({ size, read });
  }

  static ofBuffer(whole: Buffer): PackedRefsLines {
    const read = (position: number, length: number): Buffer => whole.subarray(position, position + length);
    return new PackedRefsLines({ size: whole.byteLength, read });
  }

  /** The lines from the first one on whose name is not before `name`, in the order of their bytes. */
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

  /** The last so many lines whose names start with a prefix, or all of them if there are fewer; in order. */
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

  /** The lines as they stand in the file, from the beginning of a line on. */
  *from(start: number): Generator<PackedLine> {
    let position = start;
    for (let length = scanBytes; position < this.#source.size; length = Math.min(length * 4, largestChunk)) {
      const chunk = this.#source.read(position, length);
      let at = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, at)) {
        const first = chunk[at];
        const idEnd = chunk.indexOf(space, at);
        if (first !== comment && first !== peeled && idEnd !== -1 && idEnd < end) {
          yield {
            id: chunk.toString('latin1', at, idEnd),
            name: chunk.toString('utf8', idEnd + 1, end),
            start: position + at,
            end: position + end + 1,
          };
        }
        at = end + 1;
      }
      // What has no newline at its end was never written by git; a line longer than a chunk is no ref either.
      if (at === 0) return;
      position += at;
    }
  }

  /** The beginning of a line with none but earlier names before it, close to the first later one. */
  #seek(isBefore: (line: PackedLine) => boolean): number {
    let low = 0;
    let high = this.#source.size;
    while (high - low > scanBytes) {
      const middle = low + Math.floor((high - low) / 2);
      const line = this.#firstLineBehind(middle);
      if (line !== undefined && line.start < high && isBefore(line)) low = line.end;
      else high = middle;
    }
    return low;
  }

  #firstLineBehind(position: number): PackedLine | undefined {
    const end = this.#source.read(position, scanBytes).indexOf(newline);
    if (end === -1) return undefined;
    for (const line of this.from(position + end + 1)) return line;
    return undefined;
  }
}
