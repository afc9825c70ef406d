import type { RefEdit } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadPointer } from './find-thread.ts';
import { NoRefOfItsOwn } from './thread-errors.ts';
import { rememberRemoved } from './removed-threads.ts';
import { activeRef, scratchRef } from './thread-refs.ts';

/** Where is kept what remotes have, a folder for each. */
export const REMOTES_PREFIX = 'refs/uwf/remotes/';

/**
 * Removes a thread from this repository: its refs go, what was put under it, and what a fetch keeps of it; its objects
 * are git's to collect. This machine remembers that, so that a fetch does not bring it back.
 *
 * Other threads that share commits with it keep them.
 * @throws {RefMoved} if it was written to in the meantime; nothing is removed then
 * @throws {NoRefOfItsOwn} if it is here only as a part of another thread
 */
export async function removeThread(repository: Repository, thread: ThreadPointer): Promise<void> {
  await removeThreads(repository, [thread]);
}

/** Removes several threads in one change of refs, since each change of packed ones writes all of them anew. */
export async function removeThreads(repository: Repository, threads: readonly ThreadPointer[]): Promise<void> {
  const fetched = await repository.refs.list(REMOTES_PREFIX);
  const edits: RefEdit[] = [];
  for (const { id, ref, head, keptBy } of threads) {
    if (keptBy !== undefined) throw new NoRefOfItsOwn(id, keptBy);
    edits.push({ name: ref, expected: head, value: null });
    for (const name of [activeRef(id), scratchRef(id)]) {
      const value = name === ref ? undefined : await repository.refs.read(name);
      if (value !== undefined) edits.push({ name, expected: value, value: null });
    }
    for (const other of fetched) {
      // That a remote says of it that it was removed stays true.
      if (!other.name.endsWith(`/${id}`) || other.name.endsWith(`/removed/${id}`)) continue;
      edits.push({ name: other.name, expected: other.id, value: null });
    }
    // Before the refs go: what is remembered of a thread that is still there does nothing.
    rememberRemoved(repository, id, ref === activeRef(id) ? [ref] : [activeRef(id), ref]);
  }
  if (edits.length > 0) await repository.refs.update(edits);
}
