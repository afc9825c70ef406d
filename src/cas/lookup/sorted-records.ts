/**
 * Records of one size, in the order of their bytes, each once, in blocks of whole records, a block being good until the
 * next one is asked for. Every call goes through them from the beginning.
 */
export type SortedRecords = () => Iterable<Buffer>;

const firstRunRecords = 64;
/** So many records are sorted at once. */
const mostRunRecords = 64 * 1024;
const blockRecords = 4 * 1024;

/** Records of one size (at least 4 bytes) as they come: in any order, each as often as it likes. */
export class RecordList {
  readonly #size: number;
  readonly #runs: Buffer[] = [];
  #open: Buffer;
  #used = 0;
  #length = 0;

  constructor(size: number) {
    this.#size = size;
    this.#open = Buffer.allocUnsafe(firstRunRecords * size);
  }

  /** How many were added. */
  get length(): number {
    return this.#length;
  }

  add(record: Uint8Array): void {
    if (this.#used === mostRunRecords * this.#size) this.#closeRun();
    else if (this.#used === this.#open.length) this.#grow();
    this.#open.set(record, this.#used);
    this.#used += this.#size;
    this.#length += 1;
  }

  /** All that was added until now, sorted. */
  sorted(): SortedRecords {
    const runs = [...this.#runs, sortRun(this.#open.subarray(0, this.#used), this.#size)];
    const size = this.#size;
    return () =>
      mergeRecords(
        runs.map((run) => () => [run]),
        size,
      );
  }

  #closeRun(): void {
    this.#runs.push(sortRun(this.#open, this.#size));
    this.#used = 0;
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(Math.min(this.#open.length * 4, mostRunRecords * this.#size));
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
        // Two in turn, since the last record of one is compared with the first of the next.
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

function sortRun(run: Buffer, size: number): Buffer {
  const count = run.length / size;
  const prefixes = Uint32Array.from({ length: count }, (_, index) => run.readUInt32BE(index * size));
  const compare = (a: number, b: number): number => {
    // Both are indexes of the table.
    const difference = (prefixes[a] as number) - (prefixes[b] as number);
    return difference === 0 ? run.compare(run, b * size, (b + 1) * size, a * size, (a + 1) * size) : difference;
  };
  const sorted = Buffer.allocUnsafe(run.length);
  for (const [place, index] of Uint32Array.from(prefixes.keys()).toSorted(compare).entries()) {
    run.copy(sorted, place * size, index * size, (index + 1) * size);
  }
  return sorted;
}
