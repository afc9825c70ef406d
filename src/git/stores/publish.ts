import type { ObjectBatch } from './object-batch.ts';
import type { GitObject } from '../format/object-id.ts';
import { RefMoved, type RefEdit } from '../ref-store.ts';
import type { Repository } from '../repository.ts';

/**
 * Writes objects and then moves refs to them. All new objects enter a repository this way.
 *
 * The objects are durable before the first ref is touched, and are protected from a concurrent `git gc` until the refs
 * have moved. If the refs cannot move, the objects stay behind unreferenced, as garbage that git collects.
 *
 * @param onLostRace runs if a ref has another value than expected, while the objects are still protected
 * @throws {RefMoved} if a ref has another value than expected; no ref is changed then
 * @throws {RefLocked} {RefNameConflict} {StorageFull} {StorageReadOnly} as the stores do
 */
export async function publish(
  repository: Pick<Repository, 'objects' | 'refs'>,
  batch: Pick<ObjectBatch, 'format'> & { readonly objects: readonly GitObject[] },
  edits: readonly RefEdit[],
  onLostRace?: (error: RefMoved) => Promise<void>,
): Promise<void> {
  // git could never read an object under an id of the other hash.
  if (batch.format !== repository.objects.format)
    throw new Error(`objects of ${batch.format} are for another repository`);
  const written = await repository.objects.write(batch.objects);
  try {
    await repository.refs.update(edits);
  } catch (error) {
    if (error instanceof RefMoved) await onLostRace?.(error);
    throw error;
  } finally {
    await written.release();
  }
}

/** Tries `work`, which changes refs, again if another process moved a ref first; at most `mostTries` times. */
export async function againIfMoved<T>(mostTries: number, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RefMoved) || tries === mostTries) throw error;
    }
  }
}
