import { setImmediate } from 'node:timers/promises';
import { applyDelta, readDeltaSizes } from '../disk/apply-delta.ts';
import { DeltaBaseCache } from '../disk/delta-base-cache.ts';
import { inflate } from '../disk/inflate.ts';
import { CorruptObject, ObjectTooLarge } from '../object-errors.ts';
import { hashObject, type GitObject, type ObjectId, type ObjectType } from '../object-id.ts';
import type { IncomingLimits } from './incoming-limits.ts';
import type { PackBytes } from './pack-bytes.ts';
import type { PackTable, PackTableEntry } from './pack-table.ts';
import { scanPack } from './scan-pack.ts';
import { UnpackBudget } from './unpack-budget.ts';

const cachedBytes = 16 * 1024 * 1024;
/** git writes chains of at most 4,095 deltas (`pack.depth`); a longer one goes in a circle. */
const longestChain = 4_096;
const deltasPerTurn = 100;

/**
 * The objects of a pack that came in, by id, without an index.
 *
 * Objects that are larger than allowed, or differences from such, are not made: they are told of as too large where their
 * id is known, and are not there where it is not.
 */
export class IncomingPack {
  readonly #bytes: PackBytes;
  readonly #table: PackTable;
  readonly #limits: IncomingLimits;
  readonly #bases = new DeltaBaseCache(cachedBytes);

  private constructor(bytes: PackBytes, table: PackTable, limits: IncomingLimits) {
    this.#bytes = bytes;
    this.#table = table;
    this.#limits = limits;
  }

  /**
   * Reads a pack through and names everything in it.
   *
   * @param budget what may still be unpacked, where several packs share it
   * @throws {IndigestibleAnswer} if it is damaged, or unpacks to more than is allowed
   */
  static async open(
    bytes: PackBytes,
    limits: IncomingLimits,
    signal?: AbortSignal,
    budget: UnpackBudget = new UnpackBudget(limits.unpackedBytes),
  ): Promise<IncomingPack> {
    const table = await scanPack(bytes, limits, budget, signal);
    const pack = new IncomingPack(bytes, table, limits);
    await pack.#nameDeltas(budget, signal);
    return pack;
  }

  /** How many entries it has. */
  get length(): number {
    return this.#table.length;
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  has(id: ObjectId): boolean {
    return this.#table.find(id) !== undefined;
  }

  /** The type of an object, as far as a difference has one from what it is a difference from; `undefined` if it is not here. */
  typeOf(id: ObjectId): ObjectType | undefined {
    let number = this.#table.find(id);
    while (number !== undefined) {
      const entry = this.#table.entry(number);
      if (entry.kind === 'object') return entry.type;
      number = entry.kind === 'ref-delta' ? this.#table.find(entry.base) : entry.base;
    }
    return undefined;
  }

  /** Lets go of the pack; calling twice is harmless. */
  close(): void {
    this.#bytes.close();
    this.#bases.clear();
  }

  /**
   * Reads an object; `undefined` if it is not here.
   *
   * @throws {ObjectTooLarge} before it is made, if it is larger than `maxBytes` or than allowed at all
   * @throws {CorruptObject} if the disk has changed what was brought
   */
  read(id: ObjectId, maxBytes: number = Number.POSITIVE_INFINITY): GitObject | undefined {
    const number = this.#table.find(id);
    if (number === undefined) return undefined;
    const limit = Math.min(maxBytes, this.#limits.objectBytes);
    const size = this.#table.objectBytes(number);
    if (size > limit) throw new ObjectTooLarge(id, size, limit);
    const object = this.#make(number);
    if (object === undefined || hashObject(object) !== id) throw new CorruptObject(id, 'it was brought as another one');
    return object;
  }

  /** A delta names its base by its place, which comes before it, or by its id, which may come after. */
  async #nameDeltas(budget: UnpackBudget, signal: AbortSignal | undefined): Promise<void> {
    let waiting: number[] = [];
    for (let number = 0; number < this.#table.length; number += 1) {
      if (this.#table.entry(number).kind !== 'object') waiting.push(number);
    }
    for (let before = -1; before !== waiting.length;) {
      before = waiting.length;
      const unnamed: number[] = [];
      for (const [turn, number] of waiting.entries()) {
        const object = this.#make(number, budget);
        if (object === undefined) unnamed.push(number);
        else this.#table.name(number, hashObject(object), object.data.byteLength);
        if (turn % deltasPerTurn === 0) await setImmediate();
        signal?.throwIfAborted();
      }
      waiting = unnamed;
    }
  }

  /** Makes the object of an entry; `undefined` if that is not allowed, or its base is not (yet) there. */
  #make(number: number, budget?: UnpackBudget): GitObject | undefined {
    const pending: { offset: number; delta: PackTableEntry }[] = [];
    let object: GitObject | undefined;
    for (let at = number; object === undefined;) {
      const entry = this.#table.entry(at);
      object = this.#bases.get(0, entry.offset);
      if (object !== undefined) {
        // What is handed out must not be what later deltas are applied to.
        if (pending.length === 0) return { type: object.type, data: Buffer.from(object.data) };
        break;
      }
      if (entry.kind === 'object') {
        if (pending.length > 0 && entry.size > this.#limits.deltaBytes) return undefined;
        const data = this.#dataOf(entry);
        if (data === undefined) return undefined;
        object = { type: entry.type, data };
        if (pending.length > 0) this.#bases.set(0, entry.offset, object);
        break;
      }
      if (pending.length === longestChain || entry.size > this.#limits.deltaBytes) return undefined;
      pending.push({ offset: entry.offset, delta: entry });
      const base = entry.kind === 'ref-delta' ? this.#table.find(entry.base) : entry.base;
      if (base === undefined) return undefined;
      at = base;
    }
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const data = this.#follow(object.data, next.delta, budget);
      if (data === undefined) return undefined;
      object = { type: object.type, data };
      // While they are named the next one is often made from this one.
      if (pending.length > 0 || budget !== undefined) this.#bases.set(0, next.offset, object);
    }
    return object;
  }

  #follow(base: Uint8Array, entry: PackTableEntry, budget: UnpackBudget | undefined): Buffer | undefined {
    const delta = this.#dataOf(entry);
    const sizes = delta === undefined ? undefined : readDeltaSizes(delta);
    if (delta === undefined || sizes === undefined || sizes.resultSize > this.#limits.deltaBytes) return undefined;
    budget?.spend(sizes.resultSize);
    return applyDelta(base, delta);
  }

  #dataOf(entry: PackTableEntry): Buffer | undefined {
    const outcome = inflate(this.#bytes.read(entry.dataAt, entry.dataBytes), entry.size);
    return 'data' in outcome ? outcome.data : undefined;
  }
}
