import createXxhash from 'xxhash-wasm';
import type { XXHashAPI } from 'xxhash-wasm';
import type { JsonValue } from '../json.ts';
import { deterministicCbor } from './deterministic-cbor.ts';
import { META_SCHEMA } from './frozen-types.ts';
import { parseNodeHash } from './node-hash.ts';
import type { NodeHash } from './node-hash.ts';

export { InvalidNodeHash, isNodeHash, parseNodeHash } from './node-hash.ts';
export type { NodeHash } from './node-hash.ts';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

let xxhash: XXHashAPI | undefined;
let preparing: Promise<void> | undefined;

/**
 * Loads the hash function, which is WebAssembly and so cannot be loaded without waiting.
 *
 * All functions that hash are synchronous. Await this once in the process before the first of them; further calls are free.
 */
export function prepareHashing(): Promise<void> {
  preparing ??= createXxhash().then((api) => {
    xxhash = api;
  });
  return preparing;
}

/**
 * Computes XXH64 (seed 0) of some bytes, as an unsigned number of 64 bits.
 *
 * @throws {Error} if `prepareHashing` was not awaited before, which is a bug of the caller
 * Source: xxHash fast digest algorithm, specification 0.1.1.
 */
export function digest(bytes: Uint8Array): bigint {
  if (xxhash === undefined) throw new Error('prepareHashing() has to be awaited before anything is hashed');
  return xxhash.h64Raw(bytes);
}

/** Larger payloads are hashed in parts of this size: WebAssembly copies its input, and never gives the memory back. */
const MAX_COPIED_BYTES = 64 * 1024;

/** Computes the {@link digest} of several byte strings joined, without joining them. */
function digestOfParts(...parts: readonly Uint8Array[]): bigint {
  if (xxhash === undefined) throw new Error('prepareHashing() has to be awaited before anything is hashed');
  const state = xxhash.create64();
  for (const part of parts) {
    for (let at = 0; at < part.byteLength; at += MAX_COPIED_BYTES) {
      state.update(part.subarray(at, at + MAX_COPIED_BYTES));
    }
  }
  return state.digest();
}

/** Writes 64 bits as 13 characters of Crockford Base32: most significant first, right-aligned. */
export function base32(bits: bigint): NodeHash {
  // A number holds each half exactly. Every operation on a bigint would allocate a new one.
  let high = Number(BigInt.asUintN(64, bits) >> 30n);
  let low = Number(bits & 0x3fffffffn);
  let text = '';
  for (let place = 0; place < 6; place++) {
    text = alphabet.charAt(low & 31) + text;
    low >>>= 5;
  }
  for (let place = 6; place < 13; place++) {
    text = alphabet.charAt(high % 32) + text;
    high = Math.floor(high / 32);
  }
  return parseNodeHash(text);
}

/** The value of each character of a hash, by its code. */
const digits = new Uint8Array(128);
for (let value = 0; value < alphabet.length; value++) digits[alphabet.charCodeAt(value)] = value;

/** The bits of a hash: the highest 34 and the lowest 30, because a number does not hold all, and big integers are slow. */
type HashHalves = { high: number; low: number };

/** Reads the bits of a hash back: the inverse of {@link base32}. */
function hashHalves(hash: NodeHash): HashHalves {
  return { high: numberOf(hash, 0, 7), low: numberOf(hash, 7, 13) };
}

/** The same as one number of 64 bits. */
export function hashBits(hash: NodeHash): bigint {
  const { high, low } = hashHalves(hash);
  return (BigInt(high) << 30n) | BigInt(low);
}

function numberOf(hash: NodeHash, from: number, end: number): number {
  let number = 0;
  for (let at = from; at < end; at++) number = number * 32 + (digits[hash.charCodeAt(at)] ?? 0);
  return number;
}

/**
 * Computes the hash of a node: XXH64 over the 13 ASCII characters of its type followed by its payload in deterministic
 * CBOR. The meta-schema, being its own type, is hashed without the prefix.
 *
 * XXH64 is an address and can be forged; integrity is git's object id.
 * @throws {Error} if `prepareHashing` was not awaited before
 */
export function hashNode(type: NodeHash | string, payload: JsonValue): NodeHash {
  const cbor = deterministicCbor(payload);
  if (type === META_SCHEMA) {
    const selfTyped = base32(digest(cbor));
    if (selfTyped === META_SCHEMA) return selfTyped;
  }
  if (cbor.byteLength > MAX_COPIED_BYTES) return base32(digestOfParts(new TextEncoder().encode(type), cbor));
  const input = new Uint8Array(type.length + cbor.byteLength);
  new TextEncoder().encodeInto(type, input);
  input.set(cbor, type.length);
  return base32(digest(input));
}
