import { objectIdFromBytes, type ObjectId, type ObjectType } from '../object-id.ts';

/** What is known of an entry once the pack was read through. */
export type PackTableEntry = {
  offset: number;
  /** Where the compressed data is, and how long. */
  dataAt: number;
  dataBytes: number;
  /** Bytes of the data, uncompressed. */
  size: number;
} & (
  | { kind: 'object'; type: ObjectType }
  /** `base` is the number of the entry that it is the difference from. */
  | { kind: 'offset-delta'; base: number }
  | { kind: 'ref-delta'; base: ObjectId }
);

const types: readonly ObjectType[] = ['commit', 'tree', 'blob', 'tag'];
const offsetDelta = 4;
const refDelta = 5;
const idBytes = 20;

/**
 * The entries of a pack by number, and the objects in it by id, in some 80 bytes an entry.
 *
 * A million of JavaScript's own objects would take several hundred megabytes.
 */
export class PackTable {
  /** How many entries there are so far. */
  length = 0;
  readonly #kinds: Uint8Array;
  readonly #places: Float64Array;
  readonly #bases: Int32Array;
  readonly #refBases = new Map<number, ObjectId>();
  readonly #ids: Buffer;
  readonly #objectBytes: Float64Array;
  /** Numbers by the first bytes of the id, with open addressing; 0 is free. */
  readonly #slots: Int32Array;

  constructor(capacity: number) {
    this.#kinds = new Uint8Array(capacity);
    this.#places = new Float64Array(capacity * 4);
    this.#bases = new Int32Array(capacity);
    this.#ids = Buffer.alloc(capacity * idBytes);
    this.#objectBytes = new Float64Array(capacity);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(capacity, 8) * 2)));
  }

  add(entry: PackTableEntry): number {
    const number = this.length++;
    this.#places.set([entry.offset, entry.dataAt, entry.dataBytes, entry.size], number * 4);
    if (entry.kind === 'object') this.#kinds[number] = types.indexOf(entry.type);
    else if (entry.kind === 'offset-delta') {
      this.#kinds[number] = offsetDelta;
      this.#bases[number] = entry.base;
    } else {
      this.#kinds[number] = refDelta;
      this.#refBases.set(number, entry.base);
    }
    return number;
  }

  entry(number: number): PackTableEntry {
    const at = number * 4;
    const [offset = 0, dataAt = 0, dataBytes = 0, size = 0] = this.#places.subarray(at, at + 4);
    const places = { offset, dataAt, dataBytes, size };
    const kind = this.#kinds[number] ?? 0;
    if (kind === offsetDelta) return { kind: 'offset-delta', ...places, base: this.#bases[number] ?? 0 };
    const base = this.#refBases.get(number);
    if (kind === refDelta && base !== undefined) return { kind: 'ref-delta', ...places, base };
    return { kind: 'object', ...places, type: types[kind] ?? 'blob' };
  }

  /** The number of the entry that starts at an offset; `undefined` if none does. */
  at(offset: number): number | undefined {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.#places[middle * 4] ?? 0;
      if (found === offset) return middle;
      if (found < offset) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** Says which object an entry is, and how many bytes it has. Of two that are the same the first is found. */
  name(number: number, id: ObjectId, objectBytes: number): void {
    this.#ids.write(id, number * idBytes, 'hex');
    this.#objectBytes[number] = objectBytes;
    const slot = this.#slotOf(id);
    if (this.#slots[slot] === 0) this.#slots[slot] = number + 1;
  }

  /** The number of the entry of an object; `undefined` if it is not here. */
  find(id: ObjectId): number | undefined {
    const found = this.#slots[this.#slotOf(id)] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  /** Bytes of the object of a named entry. */
  objectBytes(number: number): number {
    return this.#objectBytes[number] ?? 0;
  }

  /** The slot that an id has, or would have. */
  #slotOf(id: ObjectId): number {
    const mask = this.#slots.length - 1;
    let slot = Number.parseInt(id.slice(0, 8), 16) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot] ?? 0;
      if (found === 0) return slot;
      const at = (found - 1) * idBytes;
      if (objectIdFromBytes(this.#ids.subarray(at, at + idBytes)) === id) return slot;
    }
  }
}
