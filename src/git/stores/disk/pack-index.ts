import { CorruptObject } from '../../format/object-errors.ts';
import type { ObjectId } from '../../format/object-id.ts';
import type { ReadBytes } from '../../system/page-cache.ts';
import type { PackFiles } from './pack-files.ts';

/** The layout of the tables of an index; all in bytes. */
type Layout = {
  count: number;
  /** The position of the first id, and the distance to the next. */
  idsAt: number;
  idStride: number;
  offsetsAt: number;
  offsetStride: number;
  /** Offsets of 2 GiB and more (version 2). */
  largeOffsetsAt: number;
  largeOffsetsEnd: number;
};

const fanOutBytes = 256 * 4;
const magic = 0xff744f63;
/** So many ids are read at once. */
const idsPerRead = 128;
const checksumsBytes = 40;

/**
 * The index of one pack: the positions of its objects.
 *
 * Only the fan-out table (1 KiB) is kept; ids and offsets are read from the file when they are needed, so memory does not
 * depend on the size of the pack. Versions 1 and 2, offsets of more than 2 GiB included.
 * Source: gitformat-pack(5), "Pack index".
 */
export class PackIndex {
  readonly path: string;
  readonly #files: PackFiles;
  readonly #bytes: ReadBytes;
  #fanOut: Buffer | undefined;
  #layout: Layout | undefined;

  constructor(path: string, files: PackFiles) {
    this.path = path;
    this.#files = files;
    this.#bytes = files.reader(path);
  }

  /**
   * The offset of an object in the pack; `undefined` if it is not in this pack.
   *
   * @throws {CorruptObject} if the index cannot be what git wrote
   */
  find(id: ObjectId): number | undefined {
    const { fanOut, layout } = this.#open(id);
    const wanted = Buffer.from(id, 'hex');
    const bucket = wanted.readUInt8(0);
    const first = bucket === 0 ? 0 : fanOut.readUInt32BE((bucket - 1) * 4);
    const end = fanOut.readUInt32BE(bucket * 4);
    if (first > end || end > layout.count) throw this.#damaged(id, 'its fan-out table is not in order');
    if (first === end) return undefined;
    const position = this.#positionOf(wanted, first, end, layout, id);
    return position === undefined ? undefined : this.#offsetAt(position, layout, id);
  }

  #open(id: ObjectId): { fanOut: Buffer; layout: Layout } {
    if (this.#fanOut !== undefined && this.#layout !== undefined) {
      return { fanOut: this.#fanOut, layout: this.#layout };
    }
    const size = this.#files.sizeOf(this.path);
    // A copy, because it is kept as long as the pack.
    const head = Buffer.from(this.#bytes(0, 8 + fanOutBytes));
    if (head.byteLength < 8 + fanOutBytes) throw this.#damaged(id, 'it is cut off');
    const version = head.readUInt32BE(0) === magic ? head.readUInt32BE(4) : 1;
    if (version > 2) throw this.#damaged(id, `its version ${version} is not known`);
    const fanOut = version === 1 ? head.subarray(0, fanOutBytes) : head.subarray(8);
    const layout = layoutOf(version, fanOut.readUInt32BE(255 * 4), size);
    if (layout.largeOffsetsAt > layout.largeOffsetsEnd) throw this.#damaged(id, 'it is cut off');
    this.#fanOut = fanOut;
    this.#layout = layout;
    return { fanOut, layout };
  }

  #positionOf(wanted: Buffer, first: number, end: number, layout: Layout, id: ObjectId): number | undefined {
    let low = first;
    let high = end;
    // Ids are spread evenly, so the next bytes of an id predict its position, plus or minus the deviation. Only one guess,
    // because a forged index can be different.
    let middle = first + Math.floor((wanted.readUInt32BE(1) / 2 ** 32) * (end - first));
    while (low < high) {
      const start = Math.max(low, middle - (idsPerRead >>> 1));
      const count = Math.min(high - start, idsPerRead);
      const ids = this.#read(layout.idsAt + start * layout.idStride, (count - 1) * layout.idStride + 20, id);
      const place = placeOf(wanted, ids, layout.idStride, count);
      if (place.isThere) return start + place.at;
      if (place.at === count && start + count < high) low = start + count;
      else if (place.at === 0 && start > low) high = start;
      else return undefined;
      middle = low + ((high - low) >>> 1);
    }
    return undefined;
  }

  #offsetAt(position: number, layout: Layout, id: ObjectId): number {
    const offset = this.#read(layout.offsetsAt + position * layout.offsetStride, 4, id).readUInt32BE(0);
    if (offset < 0x80000000 || layout.largeOffsetsEnd === 0) return offset;
    const at = layout.largeOffsetsAt + (offset - 0x80000000) * 8;
    if (at + 8 > layout.largeOffsetsEnd) throw this.#damaged(id, 'an offset leads outside of it');
    const large = this.#read(at, 8, id).readBigUInt64BE(0);
    if (large > BigInt(Number.MAX_SAFE_INTEGER)) throw this.#damaged(id, 'an offset cannot be');
    return Number(large);
  }

  #read(position: number, length: number, id: ObjectId): Buffer {
    const bytes = this.#bytes(position, length);
    if (bytes.byteLength < length) throw this.#damaged(id, 'it is cut off');
    return bytes;
  }

  #damaged(id: ObjectId, reason: string): CorruptObject {
    return new CorruptObject(id, `the pack index ${this.path} cannot be read: ${reason}`);
  }
}

/** The position of an id among sorted ids, or where it would be. */
function placeOf(wanted: Buffer, ids: Buffer, stride: number, count: number): { at: number; isThere: boolean } {
  const prefix = wanted.readUInt32BE(0);
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * stride;
    // Nearly always sufficient, without a call out of JavaScript.
    const order = ids.readUInt32BE(at) - prefix || ids.compare(wanted, 0, 20, at, at + 20);
    if (order === 0) return { at: middle, isThere: true };
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return { at: low, isThere: false };
}

function layoutOf(version: number, count: number, size: number): Layout {
  if (version === 1) {
    const offsetsAt = fanOutBytes;
    const end = offsetsAt + count * 24 + checksumsBytes;
    // Version 1 has no table of large offsets; an end before the start says that the file is too short.
    const largeOffsetsAt = end > size ? 1 : 0;
    const entries = { idsAt: offsetsAt + 4, idStride: 24, offsetsAt, offsetStride: 24 };
    return { count, ...entries, largeOffsetsAt, largeOffsetsEnd: 0 };
  }
  const idsAt = 8 + fanOutBytes;
  const offsetsAt = idsAt + count * (20 + 4);
  const largeOffsetsAt = offsetsAt + count * 4;
  const entries = { idsAt, idStride: 20, offsetsAt, offsetStride: 4 };
  return { count, ...entries, largeOffsetsAt, largeOffsetsEnd: size - checksumsBytes };
}
