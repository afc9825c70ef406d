import { deflateSync } from 'node:zlib';
import type { GitObject, ObjectType } from '../object-id.ts';

const typeNumbers: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };

/** What zlib writes into at once, in bytes: as much as the object is large. */
const minChunkSize = 256;
const maxChunkSize = 64 * 1024;

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
  const head: number[] = [];
  let byte = (typeNumbers[type] << 4) | (data.byteLength & 0x0f);
  let rest = Math.floor(data.byteLength / 16);
  while (rest > 0) {
    head.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  head.push(byte);
  // Node's default makes 16 KiB of garbage for an object of 100 bytes.
  const chunkSize = Math.min(Math.max(data.byteLength, minChunkSize), maxChunkSize);
  return Buffer.concat([Buffer.from(head), deflateSync(data, { level, chunkSize })]);
}
