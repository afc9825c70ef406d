import { CorruptObject } from '../../format/object-errors.ts';
import { isObjectId } from '../../format/object-id.ts';
import type { ObjectId, ObjectType } from '../../format/object-id.ts';
import type { ReadBytes } from '../../system/page-cache.ts';
import { compressedBound, inflate, isPlausibleSize } from './inflate.ts';
import { packEntryHeadBytes, readPackEntryHead } from './pack-entry-head.ts';
import type { PackFiles } from './pack-files.ts';
import { PackIndex } from './pack-index.ts';

/** The head of an entry: whole objects have a type, deltas have a base. */
export type PackEntry = {
  /** Bytes of the data, uncompressed: of the object, or of the delta. */
  size: number;
  /** Where the compressed data starts. */
  dataAt: number;
} & ({ type: ObjectType } | { type: 'delta'; baseAt: number });

const packHeaderBytes = 12;
const trailerBytes = 20;
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
  readonly #files: PackFiles;
  readonly #read: ReadBytes;
  #dataEnd: number | undefined;

  /** @param path without its ending: `…/pack-<name>` */
  constructor(path: string, files: PackFiles) {
    this.path = `${path}.pack`;
    this.index = new PackIndex(`${path}.idx`, files);
    this.serial = serials++;
    this.#files = files;
    this.#read = files.reader(this.path);
  }

  /** Closes its files; they are opened again when they are needed. */
  close(): void {
    this.#files.forget(this.path);
    this.#files.forget(this.index.path);
  }

  /**
   * Reads the head of an entry.
   *
   * @param id the requested object, for the error
   * @throws {CorruptObject} if there is no entry at this place
   */
  entryAt(offset: number, id: ObjectId): PackEntry {
    const dataEnd = this.#open(id);
    if (offset < packHeaderBytes || offset >= dataEnd) throw this.damaged(id, 'an offset leads outside of it');
    const head = readPackEntryHead(this.#read(offset, packEntryHeadBytes));
    if (typeof head === 'string') throw this.damaged(id, head);
    const { size } = head;
    const dataAt = offset + head.dataAt;
    if (head.kind === 'object') return { type: head.type, size, dataAt };
    if (head.kind === 'offset-delta') {
      if (head.distance > offset - packHeaderBytes) throw this.damaged(id, 'the base of a delta lies outside of it');
      return { type: 'delta', size, dataAt, baseAt: offset - head.distance };
    }
    const baseAt = isObjectId(head.base) ? this.index.find(head.base) : undefined;
    if (baseAt === undefined) throw this.damaged(id, `the base ${head.base} of a delta is not in it`);
    return { type: 'delta', size, dataAt, baseAt };
  }

  /**
   * Inflates the data of an entry.
   *
   * @throws {CorruptObject} if it does not give exactly `entry.size` bytes
   */
  dataOf(entry: PackEntry, id: ObjectId): Buffer {
    const available = this.#open(id) - entry.dataAt;
    if (!isPlausibleSize(entry.size, available)) throw this.damaged(id, 'a size cannot be');
    // The length of the compressed data is not stored. Starts with the usual maximum, and reads more if that is too short.
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
    return this.#read(entry.dataAt, Math.max(0, Math.min(length, available)));
  }

  damaged(id: ObjectId, reason: string): CorruptObject {
    return new CorruptObject(id, `the pack ${this.path} cannot be read: ${reason}`);
  }

  /** Where the entries end and the pack's checksum starts. */
  #open(id: ObjectId): number {
    if (this.#dataEnd !== undefined) return this.#dataEnd;
    const head = this.#read(0, packHeaderBytes);
    if (head.byteLength < packHeaderBytes || head.toString('latin1', 0, 4) !== 'PACK') {
      throw this.damaged(id, 'it is no pack');
    }
    const version = head.readUInt32BE(4);
    if (version !== 2 && version !== 3) throw this.damaged(id, `its version ${version} is not known`);
    this.#dataEnd = this.#files.sizeOf(this.path) - trailerBytes;
    return this.#dataEnd;
  }
}
