import type { ObjectId } from '../../git/format/object-id.ts';
import type { RefEdit } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { ObjectBatch } from '../../git/stores/object-batch.ts';
import { againIfMoved, publish } from '../../git/stores/publish.ts';
import type { ThreadId } from '../thread-id.ts';
import { addListCommit, ArchiveList, LIST_REF, pointerOfArchived } from './archive-list.ts';
import { editList } from './edit-list.ts';
import { ENDS_PREFIX, withoutEnds } from './kept-ends.ts';

const MAX_TRIES = 20;

/**
 * Takes threads out of the archive of this repository in one transaction. Threads that are not archived are left out.
 * @param others changes of other refs that are made in the same transaction
 * @param isRestored whether they get their history refs back; otherwise git collects what only they led to
 * @throws {RefMoved} {RefLocked} {StorageFull} {StorageReadOnly} as the stores do; nothing is changed then
 */
export async function takeOut(
  repository: Repository,
  threads: readonly ThreadId[],
  { isRestored, others = [] }: { isRestored: boolean; others?: readonly RefEdit[] },
): Promise<void> {
  await againIfMoved(MAX_TRIES, async () => {
    const { objects, refs } = repository;
    const before = await refs.read(LIST_REF);
    const list = new ArchiveList(objects, before);
    const ends = new Set<ObjectId>();
    const changes = new Map<ThreadId, null>();
    const edits: RefEdit[] = [...others];
    for (const id of threads) {
      const line = await list.find(id);
      if (line === undefined) continue;
      changes.set(id, null);
      if (line.place !== undefined) continue;
      ends.add(line.end);
      if (isRestored) edits.push({ name: pointerOfArchived(line).ref, expected: null, value: line.end });
    }
    const batch = new ObjectBatch(objects.format);
    if (before !== undefined && changes.size > 0) {
      const value = addListCommit(batch, await editList(objects, batch, await list.tree(), changes));
      edits.push({ name: LIST_REF, expected: before, value });
      edits.push(...(await withoutEnds(objects, batch, await refs.list(ENDS_PREFIX), ends, repository.now())).edits);
    }
    if (edits.length > 0) await publish(repository, batch, edits);
  });
}
