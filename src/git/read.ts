import { parseCommit } from './commit.ts';
import type { Commit } from './commit.ts';
import { CorruptObject, ObjectMissing } from './object-errors.ts';
import { formatOfId, objectIdBytes } from './object-id.ts';
import type { ObjectId, ObjectType } from './object-id.ts';
import type { ObjectStore, ReadOptions } from './object-store.ts';
import { parseTree } from './tree.ts';
import type { TreeEntry } from './tree.ts';
import { readTreeLines, type TreeLine } from './tree-lines.ts';

/** The half of an object store that reading needs. */
export type ObjectReader = Pick<ObjectStore, 'read'>;

/**
 * Reads a commit that has to be there.
 *
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged or not a commit
 */
export async function readCommit(objects: ObjectReader, id: ObjectId): Promise<Commit> {
  return parseCommit(await readCommitData(objects, id), formatOfId(id));
}

/**
 * Reads the bytes of a commit that has to be there.
 *
 * @throws {ObjectMissing} {CorruptObject} as {@link readCommit} does
 */
export function readCommitData(objects: ObjectReader, id: ObjectId): Promise<Uint8Array> {
  return readTyped(objects, id, 'commit');
}

/**
 * Reads a tree of uwf's that has to be there. For one that may be the user's there is {@link readAnyTree}.
 *
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged, not a tree, or none that uwf writes
 */
export async function readTree(objects: ObjectReader, id: ObjectId): Promise<TreeEntry[]> {
  return parseTree(await readTyped(objects, id, 'tree'), formatOfId(id));
}

/**
 * Reads the lines of a tree that has to be there, the user's or uwf's: no name and no mode is judged.
 *
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged or not a tree
 */
export async function readAnyTree(objects: ObjectReader, id: ObjectId): Promise<TreeLine[]> {
  const lines = readTreeLines(await readTyped(objects, id, 'tree'), objectIdBytes(formatOfId(id)));
  if (lines === undefined) throw new CorruptObject(id, 'the tree is cut off');
  return lines;
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
