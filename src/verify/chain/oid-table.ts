import { randomBytes } from 'node:crypto';
import { hashHalves, type HashHalves, type NodeHash } from '../../cas/hash.ts';
import { objectIdBytes, type ObjectFormat, type ObjectId } from '../../git/format/object-id.ts';

const FIRST_SLOTS = 64;
/** The table grows when this part of its slots is taken. */
const MAX_LOAD = 0.75;
/** Stands for the low half of a free slot. That of a hash has 30 bits. */
const FREE = 2 ** 32 - 1;
/** With secrets below it, the sum of products in {@link firstSlotOf} stays below 2^53, where numbers are exact. */
const MODULUS = 2 ** 34;
const secret = (): number => randomBytes(6).readUIntBE(0, 6) % MODULUS;
const secrets = { highest: secret(), high: secret(), low: secret(), lowest: secret() };

/**
 * The slot at which the search for a hash begins. It depends on secrets of this process, because an attacker who makes a
 * thread can choose its hashes.
 *
 * Source: Thorup, High Speed Hashing for Integers and Strings (2015), "vector multiply-shift": the highest bits of a sum of
 * products with random numbers form a universal hash function, here for up to 2^18 slots.
 *
 * @param slots a power of two
 */
export function firstSlotOf({ high, low }: HashHalves, slots: number): number {
  const sum =
    secrets.highest * Math.floor(high / 2 ** 17) +
    secrets.high * (high % 2 ** 17) +
    secrets.low * (low >>> 15) +
    secrets.lowest * (low & 0x7fff);
  return Math.floor(((sum % MODULUS) / MODULUS) * slots);
}

/**
 * Maps each node of a thread to its blob, in 32 bytes a slot. A map of strings takes two hundred, and keeps the texts alive
 * that the strings were cut out of.
 */
export class OidTable {
  readonly #oidBytes: number;
  #count = 0;
  #slots = 0;
  #highs: Float64Array = new Float64Array();
  #lows: Uint32Array = new Uint32Array();
  #oids: Buffer = Buffer.alloc(0);

  constructor(format: ObjectFormat) {
    this.#oidBytes = objectIdBytes(format);
  }

  get size(): number {
    return this.#count;
  }

  get(hash: NodeHash): ObjectId | undefined {
    if (this.#slots === 0) return undefined;
    const slot = this.#slotOf(hashHalves(hash));
    if (this.#lows[slot] === FREE) return undefined;
    const at = slot * this.#oidBytes;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only object ids are put in.
    return this.#oids.toString('hex', at, at + this.#oidBytes) as ObjectId;
  }

  /** @param oid of the format that the table is for */
  set(hash: NodeHash, oid: ObjectId): void {
    if (this.#count + 1 > this.#slots * MAX_LOAD) this.#grow();
    const halves = hashHalves(hash);
    const slot = this.#slotOf(halves);
    if (this.#lows[slot] === FREE) this.#count += 1;
    this.#highs[slot] = halves.high;
    this.#lows[slot] = halves.low;
    this.#oids.write(oid, slot * this.#oidBytes, this.#oidBytes, 'hex');
  }

  /** The slot of a hash, or the free slot for it. */
  #slotOf(halves: HashHalves): number {
    const { high, low } = halves;
    let slot = firstSlotOf(halves, this.#slots);
    while (this.#lows[slot] !== FREE && (this.#lows[slot] !== low || this.#highs[slot] !== high)) {
      slot = (slot + 1) % this.#slots;
    }
    return slot;
  }

  #grow(): void {
    const [highs, lows, oids] = [this.#highs, this.#lows, this.#oids];
    const size = this.#oidBytes;
    this.#slots = Math.max(FIRST_SLOTS, 2 * this.#slots);
    this.#highs = new Float64Array(this.#slots);
    this.#lows = new Uint32Array(this.#slots).fill(FREE);
    this.#oids = Buffer.alloc(this.#slots * size);
    for (const [slot, low] of lows.entries()) {
      if (low === FREE) continue;
      const high = highs[slot] ?? 0;
      const to = this.#slotOf({ high, low });
      this.#highs[to] = high;
      this.#lows[to] = low;
      oids.copy(this.#oids, to * size, slot * size, (slot + 1) * size);
    }
  }
}
