import { crc32 } from 'node:zlib';
import { type ObjectFormat, objectIdBytes } from '../git/format/object-id.ts';

// A file of records of one size, a key of 8 bytes and an object id. First a header: 8 bytes of magic, where the sorted records
// end, and the CRC-32 of these. Then the sorted records, in pages of at most 4 KiB that end with their CRC-32. At last the tail:
// frames of records that were appended since, each behind its length and its CRC-32. Numbers have 32 bits, big-endian.
const magics: Readonly<Record<ObjectFormat, string>> = { sha1: 'UWFHASH1', sha256: 'UWFHASH2' };
const headerBytes = 16;
const pageBytes = 4096;
const sumBytes = 4;
const frameBytes = 8;
const MAX_CACHED_PAGES = 1024;

/** The bytes of a key, by which a record is found. */
export const KEY_BYTES = 8;
/** Each reader reads the whole tail. A longer one is merged with the sorted records. */
const MAX_TAIL_RECORDS = 4096;

/** Says that a file of records is damaged. Its reader removes the file and builds it anew. */
export class DamagedRecords extends Error {}

/** Returns the bytes of a file from one position to another, or to its end; fewer where it is shorter. They stay valid. */
export type ReadRange = (start: number, end?: number) => Buffer;

/** Records as they lie in a file: sorted ones, which are found by bisection and read by the page, and a tail. */
export class RecordFile {
  /** The bytes of a record. */
  readonly #size: number;
  readonly #perPage: number;
  readonly #read: ReadRange;
  readonly #sortedEnd: number;
  readonly #sortedCount: number;
  readonly #pages: Map<number, Buffer> = new Map();
  #tail: Buffer = Buffer.alloc(0);
  /** The records of the tail, a character for each byte. Made when they are first asked for. */
  #inTail: Set<string> | undefined;
  #isTorn = false;

  /** @throws {DamagedRecords} if it is no such file, or not whole. The other methods throw it for a damaged page */
  constructor(format: ObjectFormat, read: ReadRange) {
    this.#size = KEY_BYTES + objectIdBytes(format);
    this.#perPage = Math.floor((pageBytes - sumBytes) / this.#size);
    this.#read = read;
    const header = read(0, headerBytes);
    this.#sortedEnd = header.length < headerBytes ? 0 : header.readUInt32BE(8);
    if (!header.equals(makeHeader(format, this.#sortedEnd))) throw new DamagedRecords();
    const bytes = this.#sortedEnd - headerBytes;
    this.#sortedCount = (bytes - Math.ceil(bytes / this.#pageBytes) * sumBytes) / this.#size;
    this.readTail();
  }

  get #pageBytes(): number {
    return this.#perPage * this.#size + sumBytes;
  }

  /** Reads the tail anew, up to a frame that is not whole: a killed writer has left it, a full disk, or a power cut. */
  readTail(): void {
    const bytes = this.#read(this.#sortedEnd);
    const frames: Buffer[] = [];
    let at = 0;
    while (at + frameBytes < bytes.length) {
      const length = bytes.readUInt32BE(at);
      const frame = bytes.subarray(at + frameBytes, at + frameBytes + length);
      const isWhole = frame.length === length && length > 0 && length % this.#size === 0;
      if (!isWhole || crc32(frame) !== bytes.readUInt32BE(at + sumBytes)) break;
      frames.push(frame);
      at += frameBytes + length;
    }
    this.#isTorn = at < bytes.length;
    this.#tail = Buffer.concat(frames);
    this.#inTail = undefined;
  }

  /** Tells whether records may be appended. If not, {@link merged} makes a new file of all. */
  takes(records: Buffer): boolean {
    return !this.#isTorn && this.#tail.length + records.length <= MAX_TAIL_RECORDS * this.#size;
  }

  /** Takes in records that were appended. */
  remember(records: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, records]);
    this.#inTail = undefined;
  }

  has(record: Buffer): boolean {
    const index = this.#firstNotBefore(record);
    if (index < this.#sortedCount && this.#at(index).equals(record)) return true;
    this.#inTail ??= new Set([...split(this.#tail, this.#size)].map((appended) => appended.toString('latin1')));
    return this.#inTail.has(record.toString('latin1'));
  }

  /** The records whose keys lie between two bounds, both included. Some may come twice. */
  *between(low: Buffer, high: Buffer): Generator<Buffer> {
    for (let index = this.#firstNotBefore(low); index < this.#sortedCount; index++) {
      const record = this.#at(index);
      if (high.compare(record, 0, KEY_BYTES) < 0) break;
      yield record;
    }
    if (low.equals(high)) {
      for (let at = this.#tail.indexOf(low); at !== -1; at = this.#tail.indexOf(low, at + 1)) {
        if (at % this.#size === 0) yield this.#tail.subarray(at, at + this.#size);
      }
      return;
    }
    for (const record of split(this.#tail, this.#size)) {
      if (low.compare(record, 0, KEY_BYTES) <= 0 && high.compare(record, 0, KEY_BYTES) >= 0) yield record;
    }
  }

  /** All records and some others, in order and each once, as the pages of a new file. */
  *merged(others: Buffer): Generator<Buffer> {
    let page = Buffer.allocUnsafe(this.#pageBytes);
    let used = 0;
    const close = (): Buffer => {
      const closed = page.subarray(0, used + sumBytes);
      closed.writeUInt32BE(crc32(closed.subarray(0, used)), used);
      page = Buffer.allocUnsafe(this.#pageBytes);
      used = 0;
      return closed;
    };
    for (const record of this.#with(sortRecords(Buffer.concat([this.#tail, others]), this.#size))) {
      used += record.copy(page, used);
      if (used === this.#pageBytes - sumBytes) yield close();
    }
    if (used > 0) yield close();
  }

  *#with(fresh: Buffer): Generator<Buffer> {
    let at = 0;
    for (const record of this.sorted()) {
      for (; at < fresh.length; at += this.#size) {
        const order = fresh.compare(record, 0, this.#size, at, at + this.#size);
        if (order > 0) break;
        if (order < 0) yield fresh.subarray(at, at + this.#size);
      }
      yield record;
    }
    yield* split(fresh.subarray(at), this.#size);
  }

  /** The sorted records. */
  *sorted(): Generator<Buffer> {
    for (let page = 0; page * this.#perPage < this.#sortedCount; page++) yield* split(this.#readPage(page), this.#size);
  }

  #firstNotBefore(key: Buffer): number {
    let low = 0;
    let high = this.#sortedCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle).compare(key, 0, key.length, 0, key.length) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #at(index: number): Buffer {
    const number = Math.floor(index / this.#perPage);
    let page = this.#pages.get(number);
    if (page === undefined) {
      if (this.#pages.size >= MAX_CACHED_PAGES) this.#pages.clear();
      this.#pages.set(number, (page = this.#readPage(number)));
    }
    const start = (index % this.#perPage) * this.#size;
    return page.subarray(start, start + this.#size);
  }

  #readPage(number: number): Buffer {
    const start = headerBytes + number * this.#pageBytes;
    const end = Math.min(start + this.#pageBytes, this.#sortedEnd);
    const bytes = this.#read(start, end);
    const records = bytes.subarray(0, -sumBytes);
    if (bytes.length < end - start || crc32(records) !== bytes.readUInt32BE(records.length)) throw new DamagedRecords();
    return records;
  }
}

/**
 * Writes a file of sorted records without a tail. Until the header is written, which comes last, no reader takes it for one.
 * @param write is given bytes and the position of the first
 */
export function writeRecordFile(
  format: ObjectFormat,
  pages: Iterable<Buffer>,
  write: (bytes: Buffer, position: number) => void,
): void {
  let end = headerBytes;
  for (const page of pages) {
    write(page, end);
    end += page.length;
  }
  write(makeHeader(format, end), 0);
}

/** Records as they are appended to a file. */
export function frameOf(records: Buffer): Buffer {
  const frame = Buffer.alloc(frameBytes + records.length);
  frame.writeUInt32BE(records.length);
  frame.writeUInt32BE(crc32(records), sumBytes);
  records.copy(frame, frameBytes);
  return frame;
}

function makeHeader(format: ObjectFormat, sortedEnd: number): Buffer {
  const header = Buffer.alloc(headerBytes, magics[format]);
  header.writeUInt32BE(sortedEnd, 8);
  header.writeUInt32BE(crc32(header.subarray(0, -sumBytes)), headerBytes - sumBytes);
  return header;
}

function* split(records: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < records.length; at += size) yield records.subarray(at, at + size);
}

/** Sorts records, each once. */
function sortRecords(records: Buffer, size: number): Buffer {
  // The first four bytes are nearly always enough to compare, and numbers are compared faster.
  const starts = Uint32Array.from({ length: records.length / size }, (_, index) => records.readUInt32BE(index * size));
  const places = Uint32Array.from(starts.keys()).toSorted((a, b) => {
    const order = (starts[a] ?? 0) - (starts[b] ?? 0);
    return order || records.compare(records, b * size, (b + 1) * size, a * size, (a + 1) * size);
  });
  const sorted = Buffer.allocUnsafe(records.length);
  let used = 0;
  for (const place of places) {
    const record = records.subarray(place * size, (place + 1) * size);
    if (used > 0 && record.equals(sorted.subarray(used - size, used))) continue;
    used += record.copy(sorted, used);
  }
  return sorted.subarray(0, used);
}
