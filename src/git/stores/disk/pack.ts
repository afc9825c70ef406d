import { constants } from 'node:buffer';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { constants as zlib, inflateSync } from 'node:zlib';
import { orElse } from '../../../or-else.ts';
import { CorruptObject, errnoOf, ObjectTooLarge } from '../../format/errors.ts';
import {
  type GitObject,
  isObjectId,
  type ObjectFormat,
  type ObjectId,
  objectIdBytes,
  type ObjectType,
} from '../../format/object-id.ts';
import { READ, readAt } from '../../system/files.ts';

type Tables = {
  fanOut: Buffer;
  /** The first id and the first offset, and from one to the next. */
  idsAt: number;
  idStride: number;
  offsetsAt: number;
  offsetStride: number;
  /** Offsets of 2 GiB and more; version 1 has none. */
  large: { at: number; end: number } | undefined;
};

/** The head of an entry: a whole object has a type, a delta the place of its base. `size` is that of its data, inflated. */
type Entry = { size: number; dataAt: number } & ({ type: ObjectType } | { type: 'delta'; baseAt: number });

const FAN_OUT_BYTES = 256 * 4;
const INDEX_MAGIC = 0xff744f63;
const PACK_HEAD_BYTES = 12;
/** Enough for the type, the size and the base of an entry. */
const ENTRY_HEAD_BYTES = 42;
/** Compressed bytes that always include the two sizes at the start of a delta, and the most that these take. */
const DELTA_START_BYTES = 512;
const DELTA_SIZES_BYTES = 16;
/** git writes chains of at most 4,095 deltas (`pack.depth`); a longer chain is a cycle. */
const MAX_CHAIN = 4096;
/** A small object can be a delta of a large one, but git uses no base that is more than 32 times as large. */
const MAX_BASE_BYTES = 64 * 1024 * 1024;
const OUTSIDE = 'the base of a delta lies outside of it';
const typesByNumber: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };

/**
 * One pack and its index, read piece by piece: of the index only the fan-out table (1 KiB) is kept.
 * Source: gitformat-pack(5).
 */
export class Pack {
  readonly path: string;
  readonly #files: PackFiles;
  readonly #idBytes: number;
  readonly #index: ReadPart;
  readonly #pack: ReadPart;
  #tables: Tables | undefined;
  #end: number | undefined;

  /** @param path without its ending: `…/pack-<name>` */
  constructor(path: string, files: PackFiles, format: ObjectFormat = 'sha1') {
    this.path = path;
    this.#files = files;
    this.#idBytes = objectIdBytes(format);
    this.#index = files.reader(`${path}.idx`);
    this.#pack = files.reader(`${path}.pack`);
  }

  /** Closes its files; they are opened again when they are needed. */
  close(): void {
    this.#files.forget(`${this.path}.pack`);
    this.#files.forget(`${this.path}.idx`);
  }

  /** The offset, if the object is in this pack. @throws {CorruptObject} if the index cannot be what git wrote */
  find(id: ObjectId): number | undefined {
    const tables = (this.#tables ??= this.#readTables(id));
    const { fanOut, idsAt, idStride } = tables;
    const wanted = Buffer.from(id, 'hex');
    const bucket = wanted.readUInt8(0);
    let low = bucket === 0 ? 0 : fanOut.readUInt32BE((bucket - 1) * 4);
    let high = fanOut.readUInt32BE(bucket * 4);
    if (low > high || high > fanOut.readUInt32BE(255 * 4))
      throw this.#badIndex(id, 'its fan-out table is not in order');
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = wanted.compare(this.#readIndex(idsAt + middle * idStride, this.#idBytes, id));
      if (order === 0) return this.#offsetAt(middle, tables, id);
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return undefined;
  }

  /**
   * Reads the object at an offset: inflates it, or the base of its chain and one delta after the other.
   *
   * Holds at most a base, a delta and a result at a time. The object's id is not checked here.
   * @throws {CorruptObject} if the pack is damaged there
   * @throws {ObjectTooLarge} before the object is made, if it is larger than `maxBytes`; and, if there is such a limit, if its
   * base is larger than the limit and than 64 MiB
   */
  read(offset: number, id: ObjectId, maxBytes: number): GitObject {
    const deltas: { at: number; entry: Entry }[] = [];
    let at = offset;
    let found = this.#lookAt(at, id);
    while (found.type === 'delta') {
      if (deltas.push({ at, entry: found }) > MAX_CHAIN) throw this.#badPack(id, 'a chain of deltas does not end');
      at = found.baseAt;
      found = this.#lookAt(at, id);
    }
    const { type } = found;
    const limit = Math.min(maxBytes, constants.MAX_LENGTH);
    const baseLimit = maxBytes < constants.MAX_LENGTH ? Math.max(limit, MAX_BASE_BYTES) : limit;
    const assertFits = (bytes: number, most: number): void => {
      if (bytes > most) throw new ObjectTooLarge(id, bytes, most, type);
    };
    if (maxBytes < constants.MAX_LENGTH) {
      for (const [place, { entry }] of deltas.entries())
        assertFits(this.#resultSize(entry, id), place === 0 ? limit : baseLimit);
    }
    assertFits('data' in found ? found.data.byteLength : found.size, deltas.length === 0 ? limit : baseLimit);
    let object: GitObject = 'data' in found ? found : { type, data: this.#dataOf(found, id) };
    if (deltas.length > 0) this.#files.keepBase(`${this.path}:${at}`, object);
    // A copy, because later deltas are applied to the kept bytes.
    else if ('data' in found) return { type, data: Buffer.from(found.data) };
    for (let next = deltas.pop(); next !== undefined; next = deltas.pop()) {
      const delta = this.#dataOf(next.entry, id);
      assertFits(readDeltaSizes(delta)?.resultSize ?? 0, constants.MAX_LENGTH);
      const data = applyDelta(object.data, delta);
      if (data === undefined) throw this.#badPack(id, 'a delta does not fit its base');
      object = { type, data };
      if (deltas.length > 0) this.#files.keepBase(`${this.path}:${next.at}`, object);
    }
    return object;
  }

  #lookAt(offset: number, id: ObjectId): GitObject | Entry {
    return this.#files.base(`${this.path}:${offset}`) ?? this.#entryAt(offset, id);
  }

  #readTables(id: ObjectId): Tables {
    const size = this.#files.sizeOf(`${this.path}.idx`);
    const head = this.#readIndex(0, 8 + FAN_OUT_BYTES, id);
    const version = head.readUInt32BE(0) === INDEX_MAGIC ? head.readUInt32BE(4) : 1;
    if (version > 2) throw this.#badIndex(id, `its version ${version} is not known`);
    const start = version === 1 ? 0 : 8;
    // A copy, because it is kept as long as the pack.
    const fanOut = Buffer.from(head.subarray(start, start + FAN_OUT_BYTES));
    const count = fanOut.readUInt32BE(255 * 4);
    const first = start + FAN_OUT_BYTES;
    const end = size - 2 * this.#idBytes;
    const isOld = version === 1;
    // Version 1 has an offset before each id, version 2 a table each of ids, of checksums and of offsets.
    const idStride = isOld ? 4 + this.#idBytes : this.#idBytes;
    const offsetsAt = isOld ? first : first + count * (this.#idBytes + 4);
    const tablesEnd = isOld ? first + count * idStride : offsetsAt + count * 4;
    if (tablesEnd > end) throw this.#badIndex(id, 'it is cut off');
    return {
      fanOut,
      idsAt: isOld ? first + 4 : first,
      idStride,
      offsetsAt,
      offsetStride: isOld ? idStride : 4,
      large: isOld ? undefined : { at: tablesEnd, end },
    };
  }

  #offsetAt(position: number, { offsetsAt, offsetStride, large }: Tables, id: ObjectId): number {
    const offset = this.#readIndex(offsetsAt + position * offsetStride, 4, id).readUInt32BE(0);
    if (offset < 0x80000000 || large === undefined) return offset;
    const at = large.at + (offset - 0x80000000) * 8;
    if (at + 8 > large.end) throw this.#badIndex(id, 'an offset leads outside of it');
    const far = this.#readIndex(at, 8, id).readBigUInt64BE(0);
    if (far > BigInt(Number.MAX_SAFE_INTEGER)) throw this.#badIndex(id, 'an offset cannot be');
    return Number(far);
  }

  #readIndex(position: number, length: number, id: ObjectId): Buffer {
    const bytes = this.#index(position, length);
    if (bytes.byteLength < length) throw this.#badIndex(id, 'it is cut off');
    return bytes;
  }

  #entryAt(offset: number, id: ObjectId): Entry {
    const end = (this.#end ??= this.#readEnd(id));
    if (offset < PACK_HEAD_BYTES || offset >= end) throw this.#badPack(id, 'an offset leads outside of it');
    // The checksum behind the entries ends what is cut off.
    const bytes = this.#pack(offset, ENTRY_HEAD_BYTES);
    const byteAt = (at: number): number => bytes[at] ?? 0;
    const number = (byteAt(0) >> 4) & 7;
    let size = byteAt(0) & 0x0f;
    let at = 1;
    for (let scale = 16; (byteAt(at - 1) & 0x80) !== 0; scale *= 128) size += (byteAt(at++) & 0x7f) * scale;
    if (!Number.isSafeInteger(size)) throw this.#badPack(id, 'a size cannot be');
    const type = typesByNumber[number];
    if (type !== undefined) return { type, size, dataAt: offset + at };
    if (number === 6) {
      // Seven bits a byte, the most significant first, each step adding one.
      let distance = byteAt(at) & 0x7f;
      while ((byteAt(at++) & 0x80) !== 0) distance = (distance + 1) * 128 + (byteAt(at) & 0x7f);
      if (distance === 0 || distance > offset - PACK_HEAD_BYTES) throw this.#badPack(id, OUTSIDE);
      return { type: 'delta', size, dataAt: offset + at, baseAt: offset - distance };
    }
    if (number !== 7) throw this.#badPack(id, `an entry has the type ${number}`);
    const base = bytes.toString('hex', at, at + this.#idBytes);
    const baseAt = isObjectId(base) ? this.find(base) : undefined;
    if (baseAt === undefined) throw this.#badPack(id, `the base ${base} of a delta is not in it`);
    return { type: 'delta', size, dataAt: offset + at + this.#idBytes, baseAt };
  }

  #dataOf(entry: Entry, id: ObjectId): Buffer {
    const available = (this.#end ?? 0) - entry.dataAt;
    if (!isPlausibleSize(entry.size, available)) throw this.#badPack(id, 'a size cannot be');
    // The length of the compressed data is not stored. Starts with the usual maximum, and reads more if that is too short.
    for (let length = compressedBound(entry.size); ; length *= 2) {
      const outcome = inflate(this.#startOfData(entry, length), entry.size);
      if ('data' in outcome) return outcome.data;
      if (outcome.problem !== 'truncated' || length >= available)
        throw this.#badPack(id, `the data of an entry is ${outcome.problem}`);
    }
  }

  #startOfData({ dataAt }: Entry, length: number): Buffer {
    return this.#pack(dataAt, Math.max(0, Math.min(length, (this.#end ?? 0) - dataAt)));
  }

  /** The size of the object that a delta makes. */
  #resultSize(entry: Entry, id: ObjectId): number {
    const start = inflateStart(this.#startOfData(entry, DELTA_START_BYTES), DELTA_SIZES_BYTES);
    const sizes = start && readDeltaSizes(start);
    if (sizes === undefined) throw this.#badPack(id, 'a delta is cut off');
    return sizes.resultSize;
  }

  /** Where the entries end and the pack's checksum starts. */
  #readEnd(id: ObjectId): number {
    const head = this.#pack(0, PACK_HEAD_BYTES);
    const isPack = head.byteLength === PACK_HEAD_BYTES && head.toString('latin1', 0, 4) === 'PACK';
    if (!isPack) throw this.#badPack(id, 'it is no pack');
    const version = head.readUInt32BE(4);
    if (version !== 2 && version !== 3) throw this.#badPack(id, `its version ${version} is not known`);
    return this.#files.sizeOf(`${this.path}.pack`) - this.#idBytes;
  }

  #badIndex(id: ObjectId, reason: string): CorruptObject {
    return new CorruptObject(id, `the pack index ${this.path}.idx cannot be read: ${reason}`);
  }

  #badPack(id: ObjectId, reason: string): CorruptObject {
    return new CorruptObject(id, `the pack ${this.path}.pack cannot be read: ${reason}`);
  }
}

const MAX_OPEN_FILES = 64;
/** A page holds several small objects, and nearly all of a small index. */
const PAGE_BYTES = 16 * 1024;
const MAX_PAGES = 256;
const MAX_BASES_BYTES = 16 * 1024 * 1024;

/** Reads bytes from a position on; fewer at the end of the file. They must not be written to. */
type ReadPart = (position: number, length: number) => Buffer;

/**
 * What the packs of a store have in common: open files, pages of them, and the bases of deltas, which neighbours in a history
 * share. All are bounded, so that memory does not grow with the repository; the oldest goes first.
 *
 * File system errors come through as they are.
 */
export class PackFiles {
  readonly #descriptors = new Map<string, number>();
  readonly #pages = new Map<number, Buffer>();
  readonly #bases = new Map<string, GitObject>();
  #basesBytes = 0;
  #readers = 0;

  /** A reader of a file that does not change. After git has replaced the file, a new reader of the same path reads the new one. */
  reader(path: string): ReadPart {
    // Both numbers fit into one.
    const own = (this.#readers += 1) * 2 ** 32;
    const page = (number: number): Buffer => {
      let bytes = this.#pages.get(own + number);
      if (bytes === undefined) {
        if (this.#pages.size === MAX_PAGES) this.#pages.clear();
        bytes = readAt(this.#open(path), Buffer.allocUnsafeSlow(PAGE_BYTES), number * PAGE_BYTES);
        this.#pages.set(own + number, bytes);
      }
      return bytes;
    };
    return (position, length) => {
      const first = Math.floor(position / PAGE_BYTES);
      const start = position - first * PAGE_BYTES;
      if (start + length <= PAGE_BYTES) return page(first).subarray(start, start + length);
      if (length > PAGE_BYTES) return readAt(this.#open(path), Buffer.allocUnsafe(length), position);
      return Buffer.concat([page(first), page(first + 1)]).subarray(start, start + length);
    };
  }

  sizeOf(path: string): number {
    return fstatSync(this.#open(path)).size;
  }

  /** Closes a file, if it is open. */
  forget(path: string): void {
    const descriptor = this.#descriptors.get(path);
    if (descriptor === undefined) return;
    this.#descriptors.delete(path);
    closeSync(descriptor);
  }

  closeAll(): void {
    for (const path of this.#descriptors.keys()) this.forget(path);
    this.#pages.clear();
    this.#bases.clear();
    this.#basesBytes = 0;
  }

  base(key: string): GitObject | undefined {
    const base = this.#bases.get(key);
    // The one that was used last goes last.
    if (base !== undefined && this.#bases.delete(key)) this.#bases.set(key, base);
    return base;
  }

  keepBase(key: string, { type, data }: GitObject): void {
    // A large object would push out all others.
    if (data.byteLength > MAX_BASES_BYTES / 4 || this.#bases.has(key)) return;
    // A copy: it can be a part of a larger buffer, all of which would stay.
    this.#bases.set(key, { type, data: new Uint8Array(data) });
    this.#basesBytes += data.byteLength;
    for (const [oldest, base] of this.#bases) {
      if (this.#basesBytes <= MAX_BASES_BYTES) return;
      this.#bases.delete(oldest);
      this.#basesBytes -= base.data.byteLength;
    }
  }

  /** The descriptor of a file, valid until the next call. Everything here is synchronous, so it is used before. */
  #open(path: string): number {
    const descriptor = this.#descriptors.get(path) ?? openSync(path, READ);
    this.#descriptors.delete(path);
    this.#descriptors.set(path, descriptor);
    const [oldest] = this.#descriptors.keys();
    if (oldest !== undefined && this.#descriptors.size > MAX_OPEN_FILES) this.forget(oldest);
    return descriptor;
  }
}

type DeltaSizes = { baseSize: number; resultSize: number; instructionsAt: number };

/**
 * Reads the two sizes at the start of a delta; `undefined` if the delta is cut off there.
 * Source: gitformat-pack(5), "Deltified representation".
 */
export function readDeltaSizes(delta: Uint8Array): DeltaSizes | undefined {
  const base = readSize(delta, 0);
  if (base === undefined) return undefined;
  const result = readSize(delta, base.end);
  if (result === undefined) return undefined;
  return { baseSize: base.value, resultSize: result.value, instructionsAt: result.end };
}

/** The most that one byte of a delta can produce: the length of a copy has three bytes. */
const MAX_COPY_BYTES = 0xffffff;

/**
 * Applies a delta to its base; `undefined` if the delta is for another base, is cut off, or copies from outside of the base.
 * Source: gitformat-pack(5), "Deltified representation".
 */
export function applyDelta(base: Uint8Array, delta: Uint8Array): Buffer | undefined {
  const sizes = readDeltaSizes(delta);
  if (sizes === undefined || sizes.baseSize !== base.byteLength) return undefined;
  // A forged size must not decide how much memory is allocated.
  if (sizes.resultSize > delta.byteLength * MAX_COPY_BYTES) return undefined;
  const result = Buffer.allocUnsafe(sizes.resultSize);
  let at = sizes.instructionsAt;
  let filled = 0;
  while (at < delta.byteLength) {
    const instruction = delta[at++];
    if (instruction === undefined || instruction === 0) return undefined;
    let from = 0;
    let length = instruction;
    let source = delta;
    if (instruction & 0x80) {
      source = base;
      length = 0;
      if (instruction & 0x01) from = delta[at++] ?? 0;
      if (instruction & 0x02) from |= (delta[at++] ?? 0) << 8;
      if (instruction & 0x04) from |= (delta[at++] ?? 0) << 16;
      if (instruction & 0x08) from += (delta[at++] ?? 0) * 0x1000000;
      if (instruction & 0x10) length = delta[at++] ?? 0;
      if (instruction & 0x20) length |= (delta[at++] ?? 0) << 8;
      if (instruction & 0x40) length |= (delta[at++] ?? 0) << 16;
      if (length === 0) length = 0x10000;
    } else {
      from = at;
      at += length;
    }
    if (at > delta.byteLength) return undefined;
    if (from + length > source.byteLength || filled + length > result.byteLength) return undefined;
    result.set(source.subarray(from, from + length), filled);
    filled += length;
  }
  return filled === result.byteLength ? result : undefined;
}

function readSize(delta: Uint8Array, start: number): { value: number; end: number } | undefined {
  let value = 0;
  let scale = 1;
  // Seven bytes of seven bits fit into the integers that a number holds exactly.
  for (let at = start; at < start + 7; at++) {
    const byte = delta[at];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return undefined;
}

type InflateProblem = 'truncated' | 'too-long' | 'too-short' | 'damaged';

/** The result of {@link inflate}; `truncated` says that more input may help. */
type Inflated = { data: Buffer } | { problem: InflateProblem };

/** The most that zlib can make out of one byte (RFC 1951: 258 bytes from two bits, less the block's own cost). */
const MAX_RATIO = 1032;

/** zlib's buffer for output, in bytes: as large as the result, within these bounds. */
const MIN_CHUNK = 64;
const MAX_CHUNK = 2 ** 28;

/**
 * Inflates a zlib stream (RFC 1950) that must give exactly `size` bytes; what follows the stream is ignored.
 *
 * Never returns more than `size` bytes, whatever the stream says.
 */
export function inflate(input: Uint8Array, size: number): Inflated {
  // One byte more than expected shows that there is more.
  const room = size + 1;
  try {
    const chunkSize = Math.min(Math.max(room, MIN_CHUNK), MAX_CHUNK);
    const data = inflateSync(input, { chunkSize, maxOutputLength: room });
    if (data.byteLength === size) return { data };
    return { problem: data.byteLength < size ? 'too-short' : 'too-long' };
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ERR_BUFFER_TOO_LARGE') return { problem: 'too-long' };
    return { problem: code === 'Z_BUF_ERROR' ? 'truncated' : 'damaged' };
  }
}

/**
 * Inflates the beginning of a stream, at most `bytes` of it and as far as the input reaches; `undefined` if it is no zlib
 * stream.
 * @param input short: all of it is inflated
 */
export function inflateStart(input: Uint8Array, bytes: number): Buffer | undefined {
  return orElse(() => inflateSync(input, { finishFlush: zlib.Z_SYNC_FLUSH }).subarray(0, bytes), undefined);
}

/** How many bytes a compressor of today needs at most for `size` bytes. Source: zlib's `compressBound`. */
export function compressedBound(size: number): number {
  return size + Math.floor(size / 4096) + Math.floor(size / 16384) + 64;
}

/** Tells whether `compressedBytes` can hold `size` bytes at all, so that a forged size is not believed. */
export function isPlausibleSize(size: number, compressedBytes: number): boolean {
  return size <= compressedBytes * MAX_RATIO;
}
