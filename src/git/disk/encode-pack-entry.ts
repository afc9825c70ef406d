import type { GitObject, ObjectId, ObjectType } from '../object-id.ts';
import { deflate } from './deflate.ts';

const typeNumbers: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };
const refDelta = 7;

/** What a pack starts with. @param count how many entries it has */
export function encodePackHead(count: number): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK', 'latin1');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(count, 8);
  return head;
}

/**
 * Writes a whole object out as an entry of a pack.
 *
 * @param level zlib's, from 1 (fast) to 9 (small)
 * Source: gitformat-pack(5).
 */
export function encodePackEntry({ type, data }: GitObject, level: number): Buffer {
  return Buffer.concat([encodeHead(typeNumbers[type], data.byteLength), deflate(data, level)]);
}

/**
 * Writes an object out as its difference from another one, which is named by its id.
 *
 * @param delta as git encodes it
 */
export function encodeDeltaEntry(delta: Uint8Array, base: ObjectId, level: number): Buffer {
  const head = encodeHead(refDelta, delta.byteLength);
  return Buffer.concat([head, Buffer.from(base, 'hex'), deflate(delta, level)]);
}

function encodeHead(typeNumber: number, size: number): Buffer {
  const head: number[] = [];
  let byte = (typeNumber << 4) | (size & 0x0f);
  let rest = Math.floor(size / 16);
  while (rest > 0) {
    head.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  head.push(byte);
  return Buffer.from(head);
}
