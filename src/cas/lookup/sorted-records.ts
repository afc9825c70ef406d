/**
 * Records of one size, sorted by their bytes, without duplicates, in blocks of whole records. A block is valid until the
 * next one is requested. Every call starts from the beginning.
 */
export type SortedRecords = () => Iterable<Buffer>;

const firstRunRecords = 64;
/** The records that are sorted at once. */
const MAX_RUN_RECORDS = 16 * 1024;
const blockRecords = 4 * 1024;

/** Records of one size (at least 4 bytes), added in any order, with duplicates. */
export class RecordList {
  readonly #size: number;
  /** The sorted runs in use, then buffers of earlier runs, kept to be used again. */
  #runs: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  #open: Buffer;
  #used = 0;
  #length = 0;

  constructor(size: number) {
    this.#size = size;
    this.#open = Buffer.allocUnsafeSlow(firstRunRecords * size);
  }

  /** How many were added. */
  get length(): number {
    return this.#length;
  }

  add(record: Uint8Array): void {
    if (this.#used === MAX_RUN_RECORDS * this.#size) this.#closeRun();
    else if (this.#used === this.#open.length) this.#grow();
    this.#open.set(record, this.#used);
    this.#used += this.#size;
    this.#length += 1;
  }

  /** All records added so far, sorted. Valid until a record is added or the list is cleared. */
  sorted(): SortedRecords {
    this.#closeRun();
    const runs = [...this.#runs];
    const size = this.#size;
    return () =>
      mergeRecords(
        runs.map((run) => () => [run]),
        size,
      );
  }

  /** Forgets all records, and keeps the memory for the next ones. */
  clear(): void {
    for (const run of this.#runs) if (run.length === MAX_RUN_RECORDS * this.#size) this.#spare.push(run);
    this.#runs = [];
    this.#used = 0;
    this.#length = 0;
  }

  #closeRun(): void {
    if (this.#used === 0) return;
    const isFull = this.#used === MAX_RUN_RECORDS * this.#size;
    const sorted = (isFull ? this.#spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(this.#used);
    sortRun(this.#open.subarray(0, this.#used), this.#size, sorted);
    this.#runs.push(sorted);
    this.#used = 0;
  }

  #grow(): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#open.length * 4, MAX_RUN_RECORDS * this.#size));
    this.#open.copy(larger);
    this.#open = larger;
  }
}

/** Joins sorted records of one size; the memory it takes does not depend on how many there are. */
export function* mergeRecords(sources: readonly SortedRecords[], size: number): Generator<Buffer> {
  let cursors = sources.map((source) => new Cursor(source(), size)).filter((cursor) => cursor.advance());
  let block: Buffer = Buffer.allocUnsafeSlow(blockRecords * size);
  let other: Buffer | undefined;
  let used = 0;
  let last = block;
  let lastAt = -1;
  for (let least = leastOf(cursors); least !== undefined; least = leastOf(cursors)) {
    if (lastAt === -1 || !least.isAt(last, lastAt)) {
      if (used === block.length) {
        yield block;
        // Two buffers in turn: the last record of one is compared with the first of the next.
        [block, other] = [other ?? Buffer.allocUnsafeSlow(block.length), block];
        used = 0;
      }
      least.copyTo(block, used);
      last = block;
      lastAt = used;
      used += size;
    }
    if (!least.advance()) cursors = cursors.filter((cursor) => cursor !== least);
  }
  if (used > 0) yield block.subarray(0, used);
}

/** A place in sorted records. */
class Cursor {
  readonly #blocks: Iterator<Buffer>;
  readonly #size: number;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  /** The first four bytes: nearly always enough to compare. */
  #prefix = 0;

  constructor(blocks: Iterable<Buffer>, size: number) {
    this.#blocks = blocks[Symbol.iterator]();
    this.#size = size;
    this.#at = -size;
  }

  /** Goes to the next record; false if there is none. */
  advance(): boolean {
    this.#at += this.#size;
    while (this.#at >= this.#block.length) {
      const next = this.#blocks.next();
      if (next.done === true) return false;
      this.#block = next.value;
      this.#at = 0;
    }
    this.#prefix = this.#block.readUInt32BE(this.#at);
    return true;
  }

  isBefore(other: Cursor): boolean {
    if (this.#prefix !== other.#prefix) return this.#prefix < other.#prefix;
    const [at, otherAt, size] = [this.#at, other.#at, this.#size];
    return this.#block.compare(other.#block, otherAt, otherAt + size, at, at + size) < 0;
  }

  /** Tells whether the record here is the one at a place of a block. */
  isAt(block: Buffer, at: number): boolean {
    if (block.readUInt32BE(at) !== this.#prefix) return false;
    return this.#block.compare(block, at, at + this.#size, this.#at, this.#at + this.#size) === 0;
  }

  copyTo(target: Buffer, position: number): void {
    this.#block.copy(target, position, this.#at, this.#at + this.#size);
  }
}

function leastOf(cursors: readonly Cursor[]): Cursor | undefined {
  let least = cursors[0];
  for (const cursor of cursors) if (least !== undefined && cursor.isBefore(least)) least = cursor;
  return least;
}

/** Sorts records into another buffer of the same length. */
function sortRun(run: Buffer, size: number, sorted: Buffer): void {
  const starts = Array.from({ length: run.length / size }, (_, index) => index * size);
  starts.sort((a, b) => run.compare(run, b, b + size, a, a + size));
  for (const [place, start] of starts.entries()) run.copy(sorted, place * size, start, start + size);
}
