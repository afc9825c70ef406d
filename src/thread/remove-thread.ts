import type { Repository } from '../git/repository.ts';
import type { ThreadPointer } from './find-thread.ts';
import { activeRef, scratchRef } from './thread-refs.ts';

/**
 * Removes a thread from this repository: its refs go, its objects are git's to collect.
 *
 * Other threads that share commits with it keep them.
 * @throws {RefMoved} if it was written to in the meantime; nothing is removed then
 */
export async function removeThread(repository: Repository, thread: ThreadPointer): Promise<void> {
  const edits = [{ name: thread.ref, expected: thread.head, value: null }];
  for (const name of [activeRef(thread.id), scratchRef(thread.id)]) {
    const value = name === thread.ref ? undefined : await repository.refs.read(name);
    if (value !== undefined) edits.push({ name, expected: value, value: null });
  }
  await repository.refs.update(edits);
}
