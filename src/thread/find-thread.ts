import type { ObjectId } from '../git/object-id.ts';
import type { RefName } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { AmbiguousThread, ThreadNotFound } from './thread-errors.ts';
import type { ThreadId } from './thread-id.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, threadOfRef } from './thread-refs.ts';

/** Where a thread is: its id, the ref it was found under, and what that points at. */
export type ThreadPointer = { id: ThreadId; ref: RefName; head: ObjectId; isHistory: boolean };

/**
 * Lists where threads are; an id found under both an active and a history ref is ended and comes once.
 *
 * Reads ref names only. Sorted by id, which is by the time they started.
 */
export async function listPointers(
  repository: Repository,
  which: { active?: boolean; history?: boolean } = { active: true, history: true },
): Promise<ThreadPointer[]> {
  const byId = new Map<ThreadId, ThreadPointer>();
  const prefixes = [...(which.active ? [ACTIVE_PREFIX] : []), ...(which.history ? [HISTORY_PREFIX] : [])];
  for (const prefix of prefixes) {
    for (const { name, id: head } of await repository.refs.list(prefix)) {
      const thread = threadOfRef(name);
      if (thread) byId.set(thread.id, { ...thread, ref: name, head });
    }
  }
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Finds a thread by its id or by a prefix that only it has; letters may be lower-case.
 *
 * Costs one listing of names: even a whole id has to be looked for in both places, since an ending that was cut in
 * two leaves it in both.
 * @throws {ThreadNotFound} if there is none
 * @throws {AmbiguousThread} if there are several
 */
export async function getThread(repository: Repository, idOrPrefix: string): Promise<ThreadPointer> {
  const wanted = idOrPrefix.toUpperCase();
  const pointers = wanted === '' ? [] : await listPointers(repository);
  const matches = pointers.filter((pointer) => pointer.id.startsWith(wanted));
  const [first, second] = matches;
  if (!first) throw new ThreadNotFound(idOrPrefix);
  if (second) {
    throw new AmbiguousThread(
      idOrPrefix,
      matches.map((match) => match.id),
    );
  }
  return first;
}
