import type { ReadBytes } from '../../git/system/page-cache.ts';

/** Records per block. Small blocks mostly lie within one page, and are then not copied twice. */
const recordsAtOnce = 128;
const blockRecords = 4 * 1024;

/** Records of one size in a file, contiguous and sorted by their bytes. */
export class RecordTable {
  readonly #read: ReadBytes;
  readonly #start: number;
  readonly #count: number;
  readonly #size: number;

  /** @param start where the first record lies */
  constructor(read: ReadBytes, start: number, count: number, size: number) {
    this.#read = read;
    this.#start = start;
    this.#count = count;
    this.#size = size;
  }

  /** A record. It is valid until the next read. */
  at(index: number): Buffer {
    return this.#read(this.#start + index * this.#size, this.#size);
  }

  /** The place of the first record that does not come before `key`, which is at most as long as a record. */
  firstNotBefore(key: Buffer): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle).compare(key, 0, key.length, 0, key.length) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** All records, in blocks of whole ones. A block is valid until the next one is requested. */
  *blocks(): Generator<Buffer> {
    const block = Buffer.allocUnsafeSlow(Math.min(blockRecords, this.#count) * this.#size);
    let used = 0;
    for (let index = 0; index < this.#count; index += recordsAtOnce) {
      const count = Math.min(recordsAtOnce, this.#count - index);
      used += this.#read(this.#start + index * this.#size, count * this.#size).copy(block, used);
      if (used < block.length && index + count < this.#count) continue;
      yield block.subarray(0, used);
      used = 0;
    }
  }
}
