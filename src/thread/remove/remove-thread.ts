import type { RefEdit } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../thread-refs.ts';
import { takeOut } from '../archive/archive-threads.ts';
import { NoRefOfItsOwn } from '../thread-errors.ts';
import { forgetThread } from './local-traces.ts';
import { rememberRemoved } from './removed-threads.ts';
import { activeRef, REMOTES_PREFIX, scratchRef } from '../thread-refs.ts';

/**
 * Removes a thread from this repository: deletes its refs, its artifacts' ref and its tracking refs, and what this machine
 * keeps of it (journal, facts, sessions). Git collects its objects, unless another thread shares them. This machine
 * remembers the removal, so that a fetch does not bring the thread back.
 * @throws {RefMoved} if it was written to in the meantime; nothing is removed then
 * @throws {NoRefOfItsOwn} if it is here only as a part of another thread
 */
export async function removeThread(repository: Repository, thread: ThreadPointer): Promise<void> {
  await removeThreads(repository, [thread]);
}

/**
 * Removes several threads in one transaction, because each change of packed refs rewrites all of them.
 * @param others changes of other refs that are made in the same transaction
 */
export async function removeThreads(
  repository: Repository,
  threads: readonly ThreadPointer[],
  others: readonly RefEdit[] = [],
): Promise<void> {
  const fetched = await repository.refs.list(REMOTES_PREFIX);
  const edits: RefEdit[] = [...others];
  for (const { id, ref, head, keptBy, isArchived } of threads) {
    if (keptBy !== undefined) throw new NoRefOfItsOwn(id, keptBy);
    if (!isArchived) edits.push({ name: ref, expected: head, value: null });
    for (const name of [activeRef(id), scratchRef(id)]) {
      const value = name === ref ? undefined : await repository.refs.read(name);
      if (value !== undefined) edits.push({ name, expected: value, value: null });
    }
    for (const other of fetched) {
      // The remote's removal mark stays.
      if (!other.name.endsWith(`/${id}`) || other.name.endsWith(`/removed/${id}`)) continue;
      edits.push({ name: other.name, expected: other.id, value: null });
    }
    // Before the refs are deleted: the note about a thread that still exists has no effect.
    rememberRemoved(repository, id, [activeRef(id), ref, head]);
  }
  const ids = threads.map(({ id }) => id);
  await takeOut(repository, ids, { isRestored: false, others: edits });
  for (const id of ids) forgetThread(repository, id);
}
