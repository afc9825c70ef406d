import type { ReadBytes } from '../../git/system/page-cache.ts';

/** A stretch of records this long is looked through at once: at most a quarter of a page. */
const recordsAtOnce = 128;
/** How often a place is guessed, before a forged table would make that long. */
const MAX_GUESSES = 4;
const blockRecords = 4 * 1024;

/**
 * Records of one size (at least 8 bytes) that lie in a file one behind the other, in the order of their bytes. They start
 * with a hash, so that they are spread evenly.
 */
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

  /** A record; good until the next read. */
  at(index: number): Buffer {
    return this.#read(this.#start + index * this.#size, this.#size);
  }

  /**
   * The place of the first record that does not come before `key` (8 bytes, or more up to those of a record).
   *
   * Mostly reads two stretches, however many records there are: around the place where the key is to be expected, and
   * around the one that what lies there tells. Records that are not spread evenly take halving.
   */
  firstNotBefore(key: Buffer): number {
    const first32 = key.readUInt32BE(0);
    let low = 0;
    let high = this.#count;
    let expected = this.#distance(first32);
    for (let round = 0; low < high; round++) {
      const middle = round < MAX_GUESSES ? Math.min(expected, high) : (low + high) >>> 1;
      const first = Math.max(low, middle - (recordsAtOnce >>> 1));
      const end = Math.min(high, first + recordsAtOnce);
      const stretch = this.#read(this.#start + first * this.#size, (end - first) * this.#size);
      const place = first + placeIn(stretch, this.#size, end - first, key);
      // At an edge of the stretch it is only where nothing lies beyond.
      if (place === end && end < high) {
        low = end;
        expected = end + this.#distance(first32 - stretch.readUInt32BE(stretch.length - this.#size));
      } else if (place === first && first > low) {
        high = first;
        expected = first + this.#distance(first32 - stretch.readUInt32BE(0));
      } else return place;
    }
    return low;
  }

  /** All records, in blocks of whole ones; a block is good until the next one is asked for. */
  *blocks(): Generator<Buffer> {
    const block = Buffer.allocUnsafeSlow(Math.min(blockRecords, this.#count) * this.#size);
    let used = 0;
    // Small pieces lie within a page mostly, and are then not copied twice.
    for (let index = 0; index < this.#count; index += recordsAtOnce) {
      const count = Math.min(recordsAtOnce, this.#count - index);
      used += this.#read(this.#start + index * this.#size, count * this.#size).copy(block, used);
      if (used < block.length && index + count < this.#count) continue;
      yield block.subarray(0, used);
      used = 0;
    }
  }

  /** How many records are to be expected between two that are so far apart, by their first 32 bits. */
  #distance(of32: number): number {
    return Math.floor((of32 / 2 ** 32) * this.#count);
  }
}

/** The place of the first of `count` records that does not come before the key. */
function placeIn(records: Buffer, size: number, count: number, key: Buffer): number {
  const [firstHalf, secondHalf] = [key.readUInt32BE(0), key.readUInt32BE(4)];
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * size;
    // Numbers nearly always tell, without a call out of JavaScript.
    const order =
      records.readUInt32BE(at) - firstHalf ||
      records.readUInt32BE(at + 4) - secondHalf ||
      records.compare(key, 8, key.length, at + 8, at + key.length);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
