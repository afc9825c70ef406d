import { fstatSync } from 'node:fs';
import { CorruptObject } from '../object-errors.ts';
import { isObjectId } from '../object-id.ts';
import type { ObjectId, ObjectType } from '../object-id.ts';
import { compressedBound, inflate, isPlausibleSize } from './inflate.ts';
import { readAt } from './open-files.ts';
import type { OpenFiles } from './open-files.ts';
import { PackIndex } from './pack-index.ts';

/** What stands before the compressed data of an entry: whole objects have a type, deltas have a base. */
export type PackEntry = {
  /** Bytes of the data, uncompressed: of the object, or of the delta. */
  size: number;
  /** Where the compressed data starts. */
  dataAt: number;
} & ({ type: ObjectType } | { type: 'delta'; baseAt: number });

const typesByNumber: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };
const offsetDelta = 6;
const refDelta = 7;
const packHeaderBytes = 12;
const trailerBytes = 20;
/** Enough for a type, a size and a base: 10 + 20 bytes at most. */
const entryHeaderBytes = 32;
let serials = 0;

/**
 * One pack and its index, read piece by piece.
 *
 * Source: gitformat-pack(5).
 */
export class Pack {
  readonly path: string;
  readonly index: PackIndex;
  /** Tells packs of this process apart. */
  readonly serial: number;
  readonly #files: OpenFiles;
  #dataEnd: number | undefined;

  /** @param path without its ending: `…/pack-<name>` */
  constructor(path: string, files: OpenFiles) {
    this.path = `${path}.pack`;
    this.index = new PackIndex(`${path}.idx`, files);
    this.serial = serials++;
    this.#files = files;
  }

  /** Closes its files; they are opened again when they are needed. */
  close(): void {
    this.#files.forget(this.path);
    this.#files.forget(this.index.path);
  }

  /**
   * Reads what stands before an entry's data.
   *
   * @param id the object that is asked for in the end, for the error
   * @throws {CorruptObject} if there is no entry at this place
   */
  entryAt(offset: number, id: ObjectId): PackEntry {
    const dataEnd = this.#open(id);
    if (offset < packHeaderBytes || offset >= dataEnd) throw this.damaged(id, 'an offset leads outside of it');
    const head = readAt(this.#files.open(this.path), Buffer.alloc(entryHeaderBytes), offset);
    let at = 0;
    let byte = head.readUInt8(at++);
    const typeNumber = (byte >> 4) & 7;
    let size = byte & 0x0f;
    for (let scale = 16; (byte & 0x80) !== 0; scale *= 128) {
      if (at === 8) throw this.damaged(id, 'a size cannot be');
      byte = head.readUInt8(at++);
      size += (byte & 0x7f) * scale;
    }
    const type = typesByNumber[typeNumber];
    if (type !== undefined) return { type, size, dataAt: offset + at };
    if (typeNumber === offsetDelta) {
      const distance = readDistance(head, at);
      if (distance === undefined || distance.value <= 0 || distance.value > offset - packHeaderBytes) {
        throw this.damaged(id, 'the base of a delta lies outside of it');
      }
      return { type: 'delta', size, dataAt: offset + distance.end, baseAt: offset - distance.value };
    }
    if (typeNumber === refDelta) {
      const baseId = head.toString('hex', at, at + 20);
      // Twenty bytes in hexadecimal always are an id; the check is what makes it one for the compiler.
      const baseAt = isObjectId(baseId) ? this.index.find(baseId) : undefined;
      if (baseAt === undefined) throw this.damaged(id, `the base ${baseId} of a delta is not in it`);
      return { type: 'delta', size, dataAt: offset + at + 20, baseAt };
    }
    throw this.damaged(id, `an entry has the type ${typeNumber}`);
  }

  /**
   * Inflates the data of an entry.
   *
   * @throws {CorruptObject} if it does not give exactly `entry.size` bytes
   */
  dataOf(entry: PackEntry, id: ObjectId): Buffer {
    const available = this.#open(id) - entry.dataAt;
    if (!isPlausibleSize(entry.size, available)) throw this.damaged(id, 'a size cannot be');
    // How long the compressed data is stands nowhere: what a compressor needs at most, and more if it was another one.
    for (let length = compressedBound(entry.size); ; length *= 2) {
      const outcome = inflate(this.startOfData(entry, length, id), entry.size);
      if ('data' in outcome) return outcome.data;
      if (outcome.problem !== 'truncated' || length >= available) {
        throw this.damaged(id, `the data of an entry is ${outcome.problem}`);
      }
    }
  }

  /** The first bytes of the compressed data of an entry, at most `length`. */
  startOfData(entry: PackEntry, length: number, id: ObjectId): Buffer {
    const available = this.#open(id) - entry.dataAt;
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, available)));
    return readAt(this.#files.open(this.path), buffer, entry.dataAt);
  }

  damaged(id: ObjectId, reason: string): CorruptObject {
    return new CorruptObject(id, `the pack ${this.path} cannot be read: ${reason}`);
  }

  /** Where the entries end and the pack's checksum starts. */
  #open(id: ObjectId): number {
    if (this.#dataEnd !== undefined) return this.#dataEnd;
    const descriptor = this.#files.open(this.path);
    const head = readAt(descriptor, Buffer.alloc(packHeaderBytes), 0);
    if (head.byteLength < packHeaderBytes || head.toString('latin1', 0, 4) !== 'PACK') {
      throw this.damaged(id, 'it is no pack');
    }
    const version = head.readUInt32BE(4);
    if (version !== 2 && version !== 3) throw this.damaged(id, `its version ${version} is not known`);
    this.#dataEnd = fstatSync(descriptor).size - trailerBytes;
    return this.#dataEnd;
  }
}

/** The distance back to the base of a delta: seven bits a byte, most significant first, each step adding one. */
function readDistance(head: Buffer, start: number): { value: number; end: number } | undefined {
  let value = -1;
  for (let at = start; at < start + 8; at++) {
    const byte = head.readUInt8(at);
    value = (value + 1) * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return undefined;
}
