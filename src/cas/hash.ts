import { encode, rfc8949EncodeOptions } from 'cborg';
import createXxhash from 'xxhash-wasm';
import type { XXHashAPI } from 'xxhash-wasm';
import { UwfError } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import { META_SCHEMA } from './frozen-types.ts';

/** The address of a node: 13 characters of Crockford Base32 that carry 64 bits. Made only by this folder. */
export type NodeHash = string & { readonly __brand: 'NodeHash' };

/** Raised for a string that has not the form of a node hash. */
export class InvalidNodeHash extends UwfError {
  readonly text: string;
  constructor(text: string) {
    super(`'${text}' is not a node hash`, {
      code: 'invalid-node-hash',
      kind: 'usage',
      hint: 'a node hash has 13 characters out of 0-9 and A-Z without I, L, O and U, the first at most F',
    });
    this.text = text;
  }
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
// 13 characters hold 65 bits, a hash has 64: the first character is at most F.
const form = /^[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$/;

/** Tells whether a value has the form of a node hash, exactly as hashes are stored (upper case). */
export function isNodeHash(value: unknown): value is NodeHash {
  return typeof value === 'string' && form.test(value);
}

/** @throws {InvalidNodeHash} if `text` has not the form of a node hash */
export function parseNodeHash(text: string): NodeHash {
  if (!isNodeHash(text)) throw new InvalidNodeHash(text);
  return text;
}

let xxhash: XXHashAPI | undefined;
let preparing: Promise<void> | undefined;

/**
 * Loads the hash function, which is WebAssembly and so cannot be loaded without waiting.
 *
 * Every function that hashes is synchronous and needs this to have been awaited once in the process; asking again is free.
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

/** Writes 64 bits as 13 characters of Crockford Base32: most significant first, right-aligned. */
export function base32(bits: bigint): NodeHash {
  let text = '';
  let rest = BigInt.asUintN(64, bits);
  for (let place = 0; place < 13; place++) {
    text = alphabet.charAt(Number(rest & 31n)) + text;
    rest >>= 5n;
  }
  return parseNodeHash(text);
}

/** Reads the 64 bits of a hash back: the inverse of {@link base32}. */
export function hashBits(hash: NodeHash): bigint {
  let bits = 0n;
  for (const character of hash) bits = (bits << 5n) | BigInt(alphabet.indexOf(character));
  return bits;
}

/**
 * Encodes a value as deterministic CBOR: shortest forms, keys in the order of their encoded bytes, `-0` as 0.
 *
 * Source: RFC 8949 §4.2.1.
 */
export function deterministicCbor(value: JsonValue): Uint8Array {
  return encode(value, rfc8949EncodeOptions);
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
  const input = new Uint8Array(type.length + cbor.byteLength);
  new TextEncoder().encodeInto(type, input);
  input.set(cbor, type.length);
  return base32(digest(input));
}

/** Computes the hash of a schema that is its own type: the payload alone, no type in front. */
export function hashSelfTyped(payload: JsonValue): NodeHash {
  return base32(digest(deterministicCbor(payload)));
}
