import { parseCommit } from './commit.ts';
import type { Commit } from './commit.ts';
import { CorruptObject, ObjectMissing } from './object-errors.ts';
import { formatOfId } from './object-id.ts';
import type { ObjectId, ObjectType } from './object-id.ts';
import type { ObjectStore, ReadOptions } from './object-store.ts';
import { parseTree } from './tree.ts';
import type { TreeEntry } from './tree.ts';

/** The half of an object store that reading needs. */
export type ObjectReader = Pick<ObjectStore, 'read'>;

/**
 * Reads a commit that has to be there.
 *
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged or not a commit
 */
export async function readCommit(objects: ObjectReader, id: ObjectId): Promise<Commit> {
  return parseCommit(await readTyped(objects, id, 'commit'), formatOfId(id));
}

/**
 * Reads a tree that has to be there.
 *
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged or not a tree
 */
export async function readTree(objects: ObjectReader, id: ObjectId): Promise<TreeEntry[]> {
  return parseTree(await readTyped(objects, id, 'tree'), formatOfId(id));
}

/**
 * Reads a blob that has to be there.
 *
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged or not a blob
 * @throws {ObjectTooLarge} if it is larger than `maxBytes`
 */
export function readBlob(objects: ObjectReader, id: ObjectId, options?: ReadOptions): Promise<Uint8Array> {
  return readTyped(objects, id, 'blob', options);
}

async function readTyped(
  objects: ObjectReader,
  id: ObjectId,
  type: ObjectType,
  options?: ReadOptions,
): Promise<Uint8Array> {
  const object = await objects.read(id, options);
  if (object === undefined) throw new ObjectMissing(id);
  if (object.type !== type) throw new CorruptObject(id, `it is a ${object.type}, not a ${type}`);
  return object.data;
}
