import type { ObjectBatch } from './object-batch.ts';
import type { GitObject } from './object-id.ts';
import type { RefEdit } from './ref-store.ts';
import type { Repository } from './repository.ts';

/**
 * Writes objects and then moves refs to them: the one way in which uwf changes a repository.
 *
 * The objects are durable before the first ref is touched, and are protected from a concurrent `git gc` until the refs
 * have moved. If the refs cannot move, the objects stay behind unreferenced, as garbage that git collects.
 * @throws {RefMoved} if a ref has another value than expected; no ref is changed then
 * @throws {RefLocked} {RefNameConflict} {StorageFull} {StorageReadOnly} as the stores do
 */
export async function publish(
  repository: Pick<Repository, 'objects' | 'refs'>,
  batch: Pick<ObjectBatch, 'format'> & { readonly objects: readonly GitObject[] },
  edits: readonly RefEdit[],
): Promise<void> {
  // An object under an id of the other hash would be unreadable to git for ever.
  if (batch.format !== repository.objects.format)
    throw new Error(`objects of ${batch.format} are for another repository`);
  const written = await repository.objects.write(batch.objects);
  try {
    await repository.refs.update(edits);
  } finally {
    await written.release();
  }
}
