import { createHash } from 'node:crypto';
import { encodeDeltaEntry, encodePackEntry, encodePackHead } from '../disk/encode-pack-entry.ts';
import { ObjectMissing } from '../object-errors.ts';
import type { GitObject, ObjectId } from '../object-id.ts';
import type { ObjectReader } from '../read.ts';
import { encodeDelta } from './encode-delta.ts';
import type { NewObject } from '../outgoing/new-objects.ts';
import type { PackBytes } from './pack-bytes.ts';

/** What goes over a network may cost time to make small: zlib's own default. */
const compressionLevel = 6;
/** Larger objects are sent whole: finding what is the same takes memory and time. */
const largestDeltaBytes = 512 * 1024;
/** As long as git makes chains of deltas itself (`pack.depth`). */
const longestChain = 50;

/**
 * Writes objects as a pack, one at a time, as differences from similar ones where that is smaller.
 *
 * @param options.mayBeThin whether the other side completes a pack by what it has; else every object is whole
 * @throws {ObjectMissing} / {CorruptObject} if one of them cannot be read
 * @throws {StorageFull} / {StorageReadOnly}
 */
export async function writePushPack(
  objects: ObjectReader,
  found: readonly NewObject[],
  bytes: PackBytes,
  options: { mayBeThin: boolean; signal?: AbortSignal | undefined },
): Promise<void> {
  const digest = createHash('sha1');
  const add = (part: Uint8Array): void => {
    digest.update(part);
    bytes.append(part);
  };
  const chains = new Map<ObjectId, number>();
  add(encodePackHead(found.length));
  for (const { id, similar } of found) {
    options.signal?.throwIfAborted();
    const object = await objects.read(id);
    if (object === undefined) throw new ObjectMissing(id);
    const whole = encodePackEntry(object, compressionLevel);
    const links = similar === undefined ? 0 : (chains.get(similar) ?? 0) + 1;
    const isLinked = options.mayBeThin && similar !== undefined && links <= longestChain;
    const delta = isLinked ? await deltaEntry(objects, object, similar) : undefined;
    if (delta === undefined || delta.byteLength >= whole.byteLength) add(whole);
    else {
      add(delta);
      chains.set(id, links);
    }
  }
  bytes.append(digest.digest());
}

/** `undefined` where there is nothing to be a difference from. */
async function deltaEntry(objects: ObjectReader, object: GitObject, similar: ObjectId): Promise<Buffer | undefined> {
  if (object.data.byteLength > largestDeltaBytes) return undefined;
  const base = await objects.read(similar);
  if (base === undefined || base.type !== object.type || base.data.byteLength > largestDeltaBytes) return undefined;
  return encodeDeltaEntry(encodeDelta(base.data, object.data), similar, compressionLevel);
}
