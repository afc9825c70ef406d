import { type ObjectFormat, objectIdBytes } from '../git/format/object-id.ts';

// A file of lines of one width: 13 characters of a key, a blank, an object id, and a line end. The first line has a name and says how
// many sorted lines follow, filled up with blanks. At last the tail: lines that were appended since.
const KEY_LENGTH = 13;
const LINES_IN_PAGE = 64;
const MAX_CACHED_PAGES = 1024;
const MAX_WRITTEN_LINES = 1024;

/** Each reader reads the whole tail. A longer one is merged with the sorted lines. */
const MAX_TAIL_LINES = 4096;

/** Says that a file of records is damaged. Its reader removes the file and builds it anew. */
export class DamagedRecords extends Error {}

/** The bytes from one position to another, or to the end; fewer where the file is shorter. */
export type ReadRange = (start: number, end?: number) => Buffer;

/** Records, each a line without its end: sorted ones, which are found by bisection and read by the page, and a tail. */
export class RecordFile {
  /** The bytes of a line with its end. */
  readonly #width: number;
  readonly #read: ReadRange;
  readonly #sortedCount: number;
  readonly #pages: Map<number, string> = new Map();
  /** Sorted, too. */
  #tail: readonly string[] = [];
  #isTorn = false;

  /** @throws {DamagedRecords} if it is no such file. The other methods throw it where lines have not the form of records */
  constructor(format: ObjectFormat, read: ReadRange) {
    this.#width = widthFor(format);
    this.#read = read;
    const first = read(0, this.#width).toString('latin1');
    this.#sortedCount = Number(/\d+ *\n$/.exec(first)?.[0]);
    if (first !== firstLine(format, this.#sortedCount)) throw new DamagedRecords();
    this.readTail();
  }

  /** Reads the tail anew, up to a line that is not whole: a killed writer has left it, a full disk, or a power cut. */
  readTail(): void {
    const bytes = this.#read((1 + this.#sortedCount) * this.#width);
    const lines = this.#linesIn(bytes);
    this.#isTorn = lines.length * this.#width < bytes.length;
    this.#tail = sortedOnce(lines);
  }

  /** Tells whether records may be appended. If not, {@link merged} makes a new file of all. */
  takes(records: readonly string[]): boolean {
    return !this.#isTorn && this.#tail.length + records.length <= MAX_TAIL_LINES;
  }

  remember(records: readonly string[]): void {
    this.#tail = sortedOnce([...this.#tail, ...records]);
  }

  has(record: string): boolean {
    for (const found of this.between(record, record)) if (found === record) return true;
    return false;
  }

  /** The records that begin with two bounds of one length, or lie between them. Some may come twice. */
  *between(low: string, high: string): Generator<string> {
    const inTail = (index: number): string => this.#tail[index] ?? '';
    const inOrder = (index: number): string => this.#at(index);
    for (const [count, at] of [[this.#sortedCount, inOrder] as const, [this.#tail.length, inTail] as const]) {
      for (let index = firstNotBefore(low, count, at); index < count; index++) {
        const record = at(index);
        if (record.slice(0, high.length) > high) break;
        yield record;
      }
    }
  }

  /** All records and some others, in order and each once. */
  *merged(others: readonly string[]): Generator<string> {
    const fresh = sortedOnce([...this.#tail, ...others]);
    let at = 0;
    for (const record of this.sorted()) {
      for (let next = fresh[at]; next !== undefined && next <= record; next = fresh[++at])
        if (next < record) yield next;
      yield record;
    }
    yield* fresh.slice(at);
  }

  *sorted(): Generator<string> {
    for (let first = 0; first < this.#sortedCount; first += LINES_IN_PAGE) {
      const lines = this.#linesIn(this.#readPage(first));
      if (lines.length < Math.min(LINES_IN_PAGE, this.#sortedCount - first)) throw new DamagedRecords();
      yield* lines;
    }
  }

  #at(index: number): string {
    const inPage = index % LINES_IN_PAGE;
    const first = index - inPage;
    let page = this.#pages.get(first);
    if (page === undefined) {
      if (this.#pages.size >= MAX_CACHED_PAGES) this.#pages.clear();
      this.#pages.set(first, (page = this.#readPage(first).toString('latin1')));
    }
    const line = page.slice(inPage * this.#width, (inPage + 1) * this.#width - 1);
    if (!this.#isRecord(line)) throw new DamagedRecords();
    return line;
  }

  #readPage(first: number): Buffer {
    const end = Math.min(first + LINES_IN_PAGE, this.#sortedCount);
    return this.#read((1 + first) * this.#width, (1 + end) * this.#width);
  }

  /** The lines at the beginning of some bytes, up to one that has not the form of a record. */
  #linesIn(bytes: Buffer): string[] {
    const lines = bytes.toString('latin1').split('\n').slice(0, -1);
    const wrong = lines.findIndex((line) => !this.#isRecord(line));
    return wrong === -1 ? lines : lines.slice(0, wrong);
  }

  #isRecord(line: string): boolean {
    return line.length + 1 === this.#width && form.test(line);
  }
}

const form = /^[~\w]\w{12} [0-9a-f]+$/;

/**
 * Writes a file of sorted records without a tail. Until the first line is written, which comes last, no reader takes it for one.
 * @param write is given bytes and the position of the first
 */
export function writeRecordFile(
  format: ObjectFormat,
  records: Iterable<string>,
  write: (bytes: Buffer, position: number) => void,
): void {
  let count = 0;
  let lines: string[] = [];
  const flush = (): void => {
    write(bytesOf(lines), (1 + count) * widthFor(format));
    count += lines.length;
    lines = [];
  };
  for (const record of records) if (lines.push(record) === MAX_WRITTEN_LINES) flush();
  flush();
  write(Buffer.from(firstLine(format, count)), 0);
}

export function bytesOf(records: readonly string[]): Buffer {
  return Buffer.from(records.map((record) => `${record}\n`).join(''), 'latin1');
}

function widthFor(format: ObjectFormat): number {
  return KEY_LENGTH + 2 * objectIdBytes(format) + 2;
}

function firstLine(format: ObjectFormat, sortedCount: number): string {
  return `${`uwf-lookup 1 ${sortedCount}`.padEnd(widthFor(format) - 1)}\n`;
}

function firstNotBefore(key: string, count: number, at: (index: number) => string): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(middle) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sortedOnce(records: readonly string[]): readonly string[] {
  return [...new Set(records)].toSorted();
}
