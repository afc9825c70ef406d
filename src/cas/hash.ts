import createXxhash from 'xxhash-wasm';
import type { XXHashAPI } from 'xxhash-wasm';
import type { JsonObject, JsonValue } from '../json.ts';
import { META_SCHEMA, type NodeHash, parseNodeHash } from './node-hash.ts';

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

/** Major types (RFC 8949 §3.1), as the high three bits of an item's first byte. */
const unsigned = 0x00;
const negative = 0x20;
const textString = 0x60;
const list = 0x80;
const map = 0xa0;

const falseItem = 0xf4;
const trueItem = 0xf5;
const nullItem = 0xf6;
const half = 0xf9;
const single = 0xfa;
const double = 0xfb;

/** The longest head of an item, and the longest number. */
const headBytes = 9;
/** A larger buffer is not kept for the next value. */
const MAX_KEPT_BYTES = 1024 * 1024;

// One buffer for all: a value is written and handed out before the next one begins.
let buffer = Buffer.allocUnsafeSlow(4096);
let end = 0;

/**
 * Encodes a value as deterministic CBOR: shortest forms, keys in the order of their encoded bytes, `-0` as 0, numbers
 * without a fraction as integers as far as a number holds them exactly.
 *
 * Expects what `assertJsonValue` lets pass. Byte for byte what `cborg` writes with `rfc8949EncodeOptions`, down to
 * halves of subnormal size, which the RFC would have shorter.
 * Source: RFC 8949 §4.2.1.
 */
export function deterministicCbor(value: JsonValue): Uint8Array {
  end = 0;
  writeItem(value);
  const written = buffer.subarray(0, end);
  if (buffer.length <= MAX_KEPT_BYTES) return Buffer.from(written);
  buffer = Buffer.allocUnsafeSlow(4096);
  return written;
}

function writeItem(value: JsonValue): void {
  switch (typeof value) {
    case 'string':
      return writeText(value);
    case 'number':
      return writeNumber(value);
    case 'boolean':
      return writeByte(value ? trueItem : falseItem);
    default:
      if (value === null) writeByte(nullItem);
      else if (Array.isArray(value)) writeList(value);
      else writeMap(value);
  }
}

function writeList(items: readonly JsonValue[]): void {
  writeHead(list, items.length);
  for (const item of items) writeItem(item);
}

function writeMap(object: JsonObject): void {
  const keys = Object.keys(object);
  keys.sort(keys.every(isAscii) ? compareAsciiKeys : compareKeys);
  writeHead(map, keys.length);
  for (const key of keys) {
    writeText(key);
    // The key is one of the object's, so there is a value.
    writeItem(object[key] ?? null);
  }
}

/** The order of encoded keys: the shorter first, for its length comes first; then by their bytes. */
function compareKeys(a: string, b: string): number {
  const [bytesOfA, bytesOfB] = [Buffer.from(a), Buffer.from(b)];
  return bytesOfA.length - bytesOfB.length || Buffer.compare(bytesOfA, bytesOfB);
}

/** The same order, without encoding them. */
function compareAsciiKeys(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/** Texts up to this length are mostly keys and hashes, which are written faster by hand. */
const shortText = 24;

function writeText(text: string): void {
  if (text.length < shortText && isAscii(text)) {
    reserve(headBytes + shortText);
    buffer[end++] = textString | text.length;
    for (let at = 0; at < text.length; at++) buffer[end++] = text.charCodeAt(at);
    return;
  }
  const bytes = Buffer.byteLength(text);
  writeHead(textString, bytes);
  reserve(bytes);
  end += buffer.write(text, end);
}

function writeNumber(value: number): void {
  if (Number.isSafeInteger(value)) {
    if (value >= 0) writeHead(unsigned, value);
    else writeHead(negative, -1 - value);
    return;
  }
  reserve(headBytes);
  if (Math.fround(value) !== value) {
    buffer[end++] = double;
    end = buffer.writeDoubleBE(value, end);
    return;
  }
  const bits = halfBits(value);
  buffer[end++] = bits === undefined ? single : half;
  end = bits === undefined ? buffer.writeFloatBE(value, end) : buffer.writeUInt16BE(bits, end);
}

/** The bits of a number as a half-precision float (IEEE 754 binary16), if it is exactly one. */
function halfBits(value: number): number | undefined {
  const sign = value < 0 ? 0x8000 : 0;
  const size = Math.abs(value);
  // Below the smallest normal number halves are multiples of 2^-24. cborg, by which nodes were hashed from the first one
  // on, takes the powers of two among them alone, and what it wrote stays.
  if (size < 2 ** -14) {
    const multiple = size * 2 ** 24;
    return Number.isInteger(multiple) && (multiple & (multiple - 1)) === 0 ? sign | multiple : undefined;
  }
  const exponent = Math.floor(Math.log2(size));
  const fraction = (size / 2 ** exponent - 1) * 2 ** 10;
  if (exponent > 15 || !Number.isInteger(fraction)) return undefined;
  return sign | ((exponent + 15) << 10) | fraction;
}

function writeHead(major: number, argument: number): void {
  reserve(headBytes);
  if (argument < 24) buffer[end++] = major | argument;
  else if (argument < 0x100) {
    buffer[end++] = major | 24;
    buffer[end++] = argument;
  } else if (argument < 0x10000) {
    buffer[end++] = major | 25;
    end = buffer.writeUInt16BE(argument, end);
  } else if (argument < 0x100000000) {
    buffer[end++] = major | 26;
    end = buffer.writeUInt32BE(argument, end);
  } else {
    buffer[end++] = major | 27;
    end = buffer.writeBigUInt64BE(BigInt(argument), end);
  }
}

function writeByte(byte: number): void {
  reserve(1);
  buffer[end++] = byte;
}

function reserve(bytes: number): void {
  if (end + bytes <= buffer.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, end + bytes));
  buffer.copy(larger, 0, 0, end);
  buffer = larger;
}
