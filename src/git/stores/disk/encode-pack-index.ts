import { createHash } from 'node:crypto';
import { objectIdBytes } from '../../format/object-id.ts';
import type { ObjectFormat } from '../../format/object-id.ts';
import type { EncodedPack } from './encode-pack.ts';

const firstLargeOffset = 0x80000000;

/**
 * Encodes the index (version 2) of a pack.
 *
 * Source: gitformat-pack(5), "Pack index".
 */
export function encodePackIndex(pack: EncodedPack, format: ObjectFormat = 'sha1'): Buffer {
  const idBytes = objectIdBytes(format);
  // Ids are lower-case hexadecimal, so that their order as strings is that of their bytes.
  const entries = pack.entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const count = entries.length;
  const large = entries.filter((entry) => entry.offset >= firstLargeOffset);
  const idsAt = 8 + 256 * 4;
  const crcsAt = idsAt + count * idBytes;
  const offsetsAt = crcsAt + count * 4;
  const largeAt = offsetsAt + count * 4;
  const checksumsAt = largeAt + large.length * 8;
  const index = Buffer.alloc(checksumsAt + 2 * idBytes);
  index.writeUInt32BE(0xff744f63, 0);
  index.writeUInt32BE(2, 4);
  const perBucket = new Uint32Array(256);
  let largeCount = 0;
  for (const [position, { id, offset, crc32 }] of entries.entries()) {
    index.write(id, idsAt + position * idBytes, 'hex');
    const bucket = index.readUInt8(idsAt + position * idBytes);
    perBucket[bucket] = (perBucket[bucket] ?? 0) + 1;
    index.writeUInt32BE(crc32, crcsAt + position * 4);
    if (offset < firstLargeOffset) {
      index.writeUInt32BE(offset, offsetsAt + position * 4);
    } else {
      index.writeUInt32BE(firstLargeOffset + largeCount, offsetsAt + position * 4);
      index.writeBigUInt64BE(BigInt(offset), largeAt + largeCount * 8);
      largeCount++;
    }
  }
  let total = 0;
  for (const [bucket, inBucket] of perBucket.entries()) {
    total += inBucket;
    index.writeUInt32BE(total, 8 + bucket * 4);
  }
  pack.checksum.copy(index, checksumsAt);
  createHash(format)
    .update(index.subarray(0, checksumsAt + idBytes))
    .digest()
    .copy(index, checksumsAt + idBytes);
  return index;
}
