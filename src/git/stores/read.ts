import {
  type Commit,
  parseCommit,
  parseTree,
  readTreeLines,
  type TreeEntry,
  type TreeLine,
} from '../format/objects.ts';
import { CorruptObject, ObjectMissing } from '../format/errors.ts';
import { formatOfId, objectIdBytes } from '../format/object-id.ts';
import type { ObjectId, ObjectType } from '../format/object-id.ts';
import type { ObjectStore, ReadOptions } from '../repository.ts';

/** The half of an object store that reading needs. */
export type ObjectReader = Pick<ObjectStore, 'read'>;

/**
 * Reads a commit. This and the other readers but {@link readTreeIfAny} read objects that have to be there.
 * @throws {ObjectMissing} if it is not in the repository
 * @throws {CorruptObject} if it is damaged, or of another type
 */
export async function readCommit(objects: ObjectReader, id: ObjectId): Promise<Commit> {
  return parseCommit(await readCommitData(objects, id), formatOfId(id));
}

/** Reads the bytes of a commit. */
export function readCommitData(objects: ObjectReader, id: ObjectId): Promise<Uint8Array> {
  return readTyped(objects, id, 'commit');
}

/** Reads a tree; one that is not as uwf writes trees counts as damaged. For trees of users: {@link readAnyTree}. */
export async function readTree(objects: ObjectReader, id: ObjectId): Promise<TreeEntry[]> {
  return parseTree(await readTyped(objects, id, 'tree'), formatOfId(id));
}

/** Reads any tree, without checking names and modes. */
export async function readAnyTree(objects: ObjectReader, id: ObjectId): Promise<TreeLine[]> {
  const lines = readTreeLines(await readTyped(objects, id, 'tree'), objectIdBytes(formatOfId(id)));
  if (lines === undefined) throw new CorruptObject(id, 'the tree is cut off');
  return lines;
}

/** Reads the entries of any tree; none if the object is missing or no tree. */
export async function readTreeIfAny(objects: ObjectReader, id: ObjectId): Promise<TreeLine[]> {
  const object = await objects.read(id);
  return object?.type === 'tree' ? readAnyTree(objects, id) : [];
}

/** Reads a blob. @throws {ObjectTooLarge} if it is larger than `maxBytes` */
export function readBlob(objects: ObjectReader, id: ObjectId, options?: ReadOptions): Promise<Uint8Array> {
  return readTyped(objects, id, 'blob', options);
}

export async function readTyped(
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
