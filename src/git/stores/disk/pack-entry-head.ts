import type { ObjectType } from '../../format/object-id.ts';

/**
 * The head of an entry of a pack, before its compressed data.
 *
 * `size` is that of the data, uncompressed: of the object, or of the delta. `dataAt` is where the compressed data starts,
 * counted from the start of the entry, as is `distance`, how far before it the base of a delta starts.
 */
export type PackEntryHead = { size: number; dataAt: number } & (
  | { kind: 'object'; type: ObjectType }
  | { kind: 'offset-delta'; distance: number }
  | { kind: 'ref-delta'; base: string }
);

/** Enough for a type, a size and a base: 10 + 20 bytes at most. */
export const packEntryHeadBytes = 32;

const typesByNumber: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' };
const offsetDelta = 6;
const refDelta = 7;

/**
 * Reads the head of an entry, or returns a text that says what is wrong with it.
 *
 * @param bytes start with the entry, at least {@link packEntryHeadBytes} of them unless the pack ends before
 * Source: gitformat-pack(5).
 */
export function readPackEntryHead(bytes: Buffer): PackEntryHead | string {
  let at = 0;
  let byte = bytes[at++];
  if (byte === undefined) return 'an entry is cut off';
  const typeNumber = (byte >> 4) & 7;
  let size = byte & 0x0f;
  for (let scale = 16; (byte & 0x80) !== 0; scale *= 128) {
    if (at === 8) return 'a size cannot be';
    byte = bytes[at++];
    if (byte === undefined) return 'an entry is cut off';
    size += (byte & 0x7f) * scale;
  }
  const type = typesByNumber[typeNumber];
  if (type !== undefined) return { kind: 'object', type, size, dataAt: at };
  if (typeNumber === offsetDelta) {
    const distance = readDistance(bytes, at);
    if (distance === undefined || distance.value <= 0) return 'the base of a delta lies outside of it';
    return { kind: 'offset-delta', size, dataAt: distance.end, distance: distance.value };
  }
  if (typeNumber === refDelta) {
    return { kind: 'ref-delta', size, dataAt: at + 20, base: bytes.toString('hex', at, at + 20) };
  }
  return `an entry has the type ${typeNumber}`;
}

/** The distance back to the base of a delta: seven bits a byte, most significant first, each step adding one. */
function readDistance(bytes: Buffer, start: number): { value: number; end: number } | undefined {
  let value = -1;
  for (let at = start; at < start + 8; at++) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    value = (value + 1) * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return undefined;
}
