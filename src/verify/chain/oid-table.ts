import { randomBytes } from 'node:crypto';
import { hashBits, type NodeHash } from '../../cas/hash.ts';
import { HASH_BYTES } from '../../cas/lookup/segment.ts';
import { objectIdBytes, type ObjectFormat, type ObjectId } from '../../git/format/object-id.ts';

const FIRST_SLOTS = 64;
/** The table grows when this part of its slots is taken. */
const MAX_LOAD = 0.75;

/**
 * Maps each node of a thread to its blob, in 30 bytes a slot. A map of strings takes two hundred, and keeps the texts alive
 * that the strings were cut out of.
 *
 * The slot of a node depends on a secret of this process, because an attacker who makes a thread can choose its hashes.
 *
 * Source: Dietzfelbinger, Hagerup, Katajainen and Penttonen, A Reliable Randomized Algorithm for the Closest-Pair Problem
 * (1997): the highest bits of the product with a random odd number form a universal hash function.
 */
export class OidTable {
  static readonly #secret: bigint = randomBytes(HASH_BYTES).readBigUInt64BE() | 1n;
  readonly #oidBytes: number;
  #count = 0;
  #slots = 0;
  #records: Buffer = Buffer.alloc(0);
  #isTaken: Uint8Array = new Uint8Array();

  constructor(format: ObjectFormat) {
    this.#oidBytes = objectIdBytes(format);
  }

  get size(): number {
    return this.#count;
  }

  /** All nodes in no order: the bytes of the hash, then those of the object id, as in a segment of the lookup. */
  *records(): Generator<Buffer> {
    const size = HASH_BYTES + this.#oidBytes;
    for (let slot = 0; slot < this.#slots; slot++) {
      if (this.#isTaken[slot] === 1) yield this.#records.subarray(slot * size, (slot + 1) * size);
    }
  }

  get(hash: NodeHash): ObjectId | undefined {
    if (this.#slots === 0) return undefined;
    const slot = this.#slotOf(hashBits(hash));
    if (this.#isTaken[slot] !== 1) return undefined;
    const at = slot * (HASH_BYTES + this.#oidBytes) + HASH_BYTES;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only object ids are put in.
    return this.#records.toString('hex', at, at + this.#oidBytes) as ObjectId;
  }

  /** @param oid of the format that the table is for */
  set(hash: NodeHash, oid: ObjectId): void {
    if (this.#count + 1 > this.#slots * MAX_LOAD) this.#grow();
    const bits = hashBits(hash);
    const slot = this.#slotOf(bits);
    if (this.#isTaken[slot] !== 1) this.#count += 1;
    this.#isTaken[slot] = 1;
    const at = slot * (HASH_BYTES + this.#oidBytes);
    this.#records.writeBigUInt64BE(bits, at);
    this.#records.write(oid, at + HASH_BYTES, this.#oidBytes, 'hex');
  }

  /** The slot of a hash, or the free slot for it. */
  #slotOf(bits: bigint): number {
    const spread = BigInt.asUintN(64, bits * OidTable.#secret);
    const size = HASH_BYTES + this.#oidBytes;
    // The number of slots is a power of two, so this takes the highest bits.
    let slot = Math.floor((Number(spread >> 32n) * this.#slots) / 2 ** 32);
    while (this.#isTaken[slot] === 1 && this.#records.readBigUInt64BE(slot * size) !== bits) {
      slot = (slot + 1) % this.#slots;
    }
    return slot;
  }

  #grow(): void {
    const [records, isTaken] = [this.#records, this.#isTaken];
    const size = HASH_BYTES + this.#oidBytes;
    this.#slots = Math.max(FIRST_SLOTS, 2 * this.#slots);
    this.#records = Buffer.alloc(this.#slots * size);
    this.#isTaken = new Uint8Array(this.#slots);
    for (let slot = 0; slot < isTaken.length; slot++) {
      if (isTaken[slot] !== 1) continue;
      const to = this.#slotOf(records.readBigUInt64BE(slot * size));
      this.#isTaken[to] = 1;
      records.copy(this.#records, to * size, slot * size, (slot + 1) * size);
    }
  }
}
