import { constants } from 'node:buffer';
import { ObjectTooLarge } from '../object-errors.ts';
import type { GitObject, ObjectId, ObjectType } from '../object-id.ts';
import { applyDelta, readDeltaSizes } from './apply-delta.ts';
import type { DeltaBaseCache } from './delta-base-cache.ts';
import { inflateStart } from './inflate.ts';
import type { Pack, PackEntry } from './pack.ts';

/** git writes chains of at most 4,095 deltas (`pack.depth`); a longer one goes in a circle. */
const longestChain = 4096;
/** Compressed bytes that surely hold the two sizes at the start of a delta, and how long these are at most. */
const deltaStartBytes = 512;
const deltaSizesBytes = 16;

/** A small object may be a delta of a large one, but git makes none of one that is more than 32 times as large. */
const largestBaseBytes = 64 * 1024 * 1024;

/** A delta that still has to be applied, and the place in the pack of what comes out. */
type PendingDelta = { offset: number; entry: PackEntry };

/**
 * Reads the object at a place in a pack: inflates it, or the base of its chain and one delta after the other.
 *
 * At most a base, a delta and a result are held at a time. The object's id is not checked here.
 * @throws {CorruptObject} if the pack is damaged there
 * @throws {ObjectTooLarge} before the object is made, if it is larger than `maxBytes`; and where there is such a limit, if
 * what it is a delta of is larger than that and than 64 MiB
 */
export function readPackedObject(
  pack: Pack,
  offset: number,
  id: ObjectId,
  maxBytes: number,
  cache: DeltaBaseCache,
): GitObject {
  const limit = Math.min(maxBytes, constants.MAX_LENGTH);
  const baseLimit = maxBytes < constants.MAX_LENGTH ? Math.max(limit, largestBaseBytes) : limit;
  const pending: PendingDelta[] = [];
  let object: GitObject | undefined;
  for (let at = offset; object === undefined;) {
    object = cache.get(pack.serial, at);
    if (object !== undefined) {
      if (pending.length === 0) {
        checkSize(object.data.byteLength, limit, id, object.type);
        // What is handed out must not be what later deltas are applied to.
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
      if (pending.length === longestChain) throw pack.damaged(id, 'a chain of deltas does not end');
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

/** The type of what a delta makes, which is that at the end of its chain. */
function typeOf(pack: Pack, delta: PackEntry, id: ObjectId): ObjectType {
  let entry = delta;
  for (let length = 0; entry.type === 'delta'; length++) {
    if (length === longestChain) throw pack.damaged(id, 'a chain of deltas does not end');
    entry = pack.entryAt(entry.baseAt, id);
  }
  return entry.type;
}

function checkSize(bytes: number, maxBytes: number, id: ObjectId, type?: ObjectType): void {
  if (bytes > maxBytes) throw new ObjectTooLarge(id, bytes, maxBytes, type);
}
