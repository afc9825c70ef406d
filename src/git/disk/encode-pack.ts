import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import { hashObject } from '../object-id.ts';
import type { GitObject, ObjectFormat, ObjectId, ObjectType } from '../object-id.ts';

/** What the index says about an entry of a pack. */
export type PackedEntry = { id: ObjectId; offset: number; crc32: number };

/** The description of a pack that has been written out. */
export type EncodedPack = { entries: PackedEntry[]; checksum: Buffer };

const typeNumbers: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };
/**
 * Level 6 costs half as much time again and saves 1 to 5 % on texts of 1 to 8 KiB; folding the small packs deltifies them anyway.
 */
const compressionLevel = 1;

/** What zlib writes into at once, in bytes: as much as the object is large. */
const minChunkSize = 256;
const maxChunkSize = 64 * 1024;

/**
 * Writes objects out as a pack without deltas, chunk by chunk; an object that is there twice is written once.
 *
 * The generator's return value is what the index needs.
 * @param format which hash names the objects, and ends the pack
 * Source: gitformat-pack(5).
 */
export function* encodePack(
  objects: readonly GitObject[],
  format: ObjectFormat = 'sha1',
): Generator<Uint8Array, EncodedPack> {
  const unique = new Map(objects.map((object) => [hashObject(object, format), object]));
  const digest = createHash(format);
  const entries: PackedEntry[] = [];
  const head = Buffer.alloc(12);
  head.write('PACK', 'latin1');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(unique.size, 8);
  digest.update(head);
  yield head;
  let offset = head.byteLength;
  for (const [id, object] of unique) {
    const entry = encodeEntry(object);
    digest.update(entry);
    entries.push({ id, offset, crc32: crc32(entry) });
    yield entry;
    offset += entry.byteLength;
  }
  const checksum = digest.digest();
  yield checksum;
  return { entries, checksum };
}

function encodeEntry({ type, data }: GitObject): Buffer {
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
  return Buffer.concat([Buffer.from(head), deflateSync(data, { level: compressionLevel, chunkSize })]);
}
