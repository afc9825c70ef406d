import { createHash } from 'node:crypto';
import { encodePackEntry, encodePackHead } from '../disk/encode-pack-entry.ts';
import { ObjectMissing } from '../object-errors.ts';
import type { ObjectId } from '../object-id.ts';
import type { ObjectReader } from '../read.ts';
import type { PackBytes } from './pack-bytes.ts';

/** What goes over a network may cost time to make small: zlib's own default. */
const compressionLevel = 6;

/**
 * Writes objects as a pack, one at a time.
 *
 * @throws {ObjectMissing} / {CorruptObject} if one of them cannot be read
 * @throws {StorageFull} / {StorageReadOnly}
 */
export async function writePushPack(
  objects: ObjectReader,
  ids: readonly ObjectId[],
  bytes: PackBytes,
  signal: AbortSignal | undefined,
): Promise<void> {
  const digest = createHash('sha1');
  const add = (part: Uint8Array): void => {
    digest.update(part);
    bytes.append(part);
  };
  add(encodePackHead(ids.length));
  for (const id of ids) {
    signal?.throwIfAborted();
    const object = await objects.read(id);
    if (object === undefined) throw new ObjectMissing(id);
    add(encodePackEntry(object, compressionLevel));
  }
  bytes.append(digest.digest());
}
