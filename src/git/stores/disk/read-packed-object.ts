import { constants } from 'node:buffer';
import { ObjectTooLarge } from '../../format/object-errors.ts';
import type { GitObject, ObjectId, ObjectType } from '../../format/object-id.ts';
import { applyDelta, readDeltaSizes } from './apply-delta.ts';
import type { DeltaBaseCache } from './delta-base-cache.ts';
import { inflateStart } from './inflate.ts';
import type { Pack, PackEntry } from './pack.ts';

/** git writes chains of at most 4,095 deltas (`pack.depth`); a longer chain is a cycle. */
const MAX_CHAIN = 4096;
/** Compressed bytes that always include the two sizes at the start of a delta, and the most that these take. */
const deltaStartBytes = 512;
const deltaSizesBytes = 16;

/** A small object can be a delta of a large one, but git uses no base that is more than 32 times as large. */
const MAX_BASE_BYTES = 64 * 1024 * 1024;

/** A delta that still has to be applied, and its offset in the pack. */
type PendingDelta = { offset: number; entry: PackEntry };

/**
 * Reads the object at an offset in a pack: inflates it, or the base of its chain and one delta after the other.
 *
 * Holds at most a base, a delta and a result at a time. The object's id is not checked here.
 * @throws {CorruptObject} if the pack is damaged there
 * @throws {ObjectTooLarge} before the object is made, if it is larger than `maxBytes`; and, if there is such a limit, if its
 * base is larger than the limit and than 64 MiB
 */
export function readPackedObject(
  pack: Pack,
  offset: number,
  id: ObjectId,
  maxBytes: number,
  cache: DeltaBaseCache,
): GitObject {
  const limit = Math.min(maxBytes, constants.MAX_LENGTH);
  const baseLimit = maxBytes < constants.MAX_LENGTH ? Math.max(limit, MAX_BASE_BYTES) : limit;
  const pending: PendingDelta[] = [];
  let object: GitObject | undefined;
  for (let at = offset; object === undefined;) {
    object = cache.get(pack.serial, at);
    if (object !== undefined) {
      if (pending.length === 0) {
        checkSize(object.data.byteLength, limit, id, object.type);
        // A copy, because later deltas are applied to the cached bytes.
        return { type: object.type, data: Buffer.from(object.data) };
      }
      break;
    }
    const entry = pack.entryAt(at, id);
    if (entry.type === 'delta') {
      if (maxBytes < constants.MAX_LENGTH) {
        const bytes = resultSize(pack, entry, id);
        const most = pending.length === 0 ? limit : baseLimit;
        if (bytes > most) throw new ObjectTooLarge(id, bytes, most, typeOf(pack, entry, id));
      }
      if (pending.length === MAX_CHAIN) throw pack.damaged(id, 'a chain of deltas does not end');
      pending.push({ offset: at, entry });
      at = entry.baseAt;
    } else {
      checkSize(entry.size, pending.length === 0 ? limit : baseLimit, id, entry.type);
      object = { type: entry.type, data: pack.dataOf(entry, id) };
      if (pending.length > 0) cache.set(pack.serial, at, object);
    }
  }
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const delta = pack.dataOf(next.entry, id);
    checkSize(readDeltaSizes(delta)?.resultSize ?? 0, constants.MAX_LENGTH, id);
    const data = applyDelta(object.data, delta);
    if (data === undefined) throw pack.damaged(id, 'a delta does not fit its base');
    object = { type: object.type, data };
    if (pending.length > 0) cache.set(pack.serial, next.offset, object);
  }
  return object;
}

function resultSize(pack: Pack, entry: PackEntry, id: ObjectId): number {
  const start = inflateStart(pack.startOfData(entry, deltaStartBytes, id), deltaSizesBytes);
  const sizes = start === undefined ? undefined : readDeltaSizes(start);
  if (sizes === undefined) throw pack.damaged(id, 'a delta is cut off');
  return sizes.resultSize;
}

/** The type of the object that a delta makes: that of the end of its chain. */
function typeOf(pack: Pack, delta: PackEntry, id: ObjectId): ObjectType {
  let entry = delta;
  for (let length = 0; entry.type === 'delta'; length++) {
    if (length === MAX_CHAIN) throw pack.damaged(id, 'a chain of deltas does not end');
    entry = pack.entryAt(entry.baseAt, id);
  }
  return entry.type;
}

function checkSize(bytes: number, maxBytes: number, id: ObjectId, type?: ObjectType): void {
  if (bytes > maxBytes) throw new ObjectTooLarge(id, bytes, maxBytes, type);
}
