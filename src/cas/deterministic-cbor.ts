import type { JsonObject, JsonValue } from '../json.ts';

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
