import { isNodeHash } from '../cas/node-hash.ts';
import { BrokenRef, type RefDamage } from '../git/format/errors.ts';
import { isRefName } from '../git/format/refs.ts';
import type { Ref, Repository, WantedRefs } from '../git/repository.ts';
import { ambiguousThread, ThreadNotFound } from './thread-errors.ts';
import {
  ACTIVE_PREFIX,
  DAY_MS,
  dayOfEnd,
  HISTORY_PREFIX,
  isThreadId,
  type ThreadId,
  threadOfRef,
  type ThreadPointer,
  timePrefix,
  utcDate,
} from './thread-id.ts';

/** Where threads are searched for; default: under the refs of active and of ended threads, not in the archive. */
type WhichThreads = { active?: boolean; history?: boolean; archived?: boolean };

/** All threads of this repository. */
export const EVERYWHERE: WhichThreads = { active: true, history: true, archived: true };

/** Receives the damage of the refs that are read; as {@link WantedRefs.damaged}. */
export type OnDamage = { damaged?: (damage: RefDamage) => void };

/**
 * Lists the pointers of threads. An id with both an active and a history ref counts as ended, and comes once.
 *
 * Reads ref names only. Sorted by id, which is by the time they started.
 * @param sinceMs leaves out threads that ended before, and those that are active and began before; the rest costs nothing
 */
export async function listPointers(
  repository: Repository,
  which: WhichThreads = { active: true, history: true },
  { sinceMs, ...wanted }: OnDamage & Pick<WantedRefs, 'where'> & { sinceMs?: number } = {},
): Promise<ThreadPointer[]> {
  const { refs } = repository;
  const from = (prefix: string, name: (timeMs: number) => string): WantedRefs =>
    sinceMs === undefined ? wanted : { ...wanted, notBefore: prefix + name(sinceMs) };
  const active = which.active ? await refs.list(ACTIVE_PREFIX, from(ACTIVE_PREFIX, timePrefix)) : [];
  // Clocks of two machines differ.
  const dayBefore = (timeMs: number): string => utcDate(Math.max(0, timeMs - DAY_MS));
  const history = which.history ? await refs.list(HISTORY_PREFIX, from(HISTORY_PREFIX, dayBefore)) : [];
  const pointers = pointersOf([...active, ...history]);
  if (!which.archived) return pointers;
  const known = new Set(pointers.map(({ id }) => id));
  const archived = (await listArchived(repository, sinceMs)).filter(({ id }) => !known.has(id));
  return [...pointers, ...archived].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Lists the archived threads that are here. @param sinceMs leaves out those that ended before */
async function listArchived(repository: Repository, sinceMs = 0): Promise<ThreadPointer[]> {
  const { findArchived } = await import('./archive-list.ts');
  const since = utcDate(Math.max(0, sinceMs - DAY_MS));
  return (await findArchived(repository, '')).filter(({ ref }) => dayOfEnd(ref) >= since);
}

/**
 * Yields the active threads, newest first, with those whose ending was interrupted.
 * @param count how many the caller will probably take: the names of others are read only if it takes more; default: all
 */
export async function* newestActive(
  repository: Repository,
  count?: number,
  onDamage: OnDamage = {},
): AsyncGenerator<ThreadPointer, void, void> {
  const wanted: WantedRefs = { ...onDamage, ...(count !== undefined && { last: count }) };
  const newest = pointersOf(await repository.refs.list(ACTIVE_PREFIX, wanted)).toReversed();
  yield* newest;
  const last = newest.at(-1);
  if (count === undefined || last === undefined || newest.length < count) return;
  const others = await listPointers(repository, { active: true }, onDamage);
  for (const pointer of others.toReversed()) if (pointer.id < last.id) yield pointer;
}

/** Finds the threads that have a damaged ref and no sound one. */
export async function findDamaged(repository: Repository): Promise<Map<ThreadId, BrokenRef>> {
  const found = new Map<ThreadId, BrokenRef>();
  const damaged = (damage: RefDamage): void => {
    const id = threadOfDamage(damage);
    if (id === undefined) throw damage;
    if (damage instanceof BrokenRef) found.set(id, damage);
  };
  for (const { id } of await listPointers(repository, { active: true, history: true }, { damaged })) found.delete(id);
  return found;
}

/** The thread of a damaged ref; `undefined` for other refs and for `packed-refs`. */
export function threadOfDamage({ ref }: RefDamage): ThreadId | undefined {
  return isRefName(ref) ? threadOfRef(ref)?.id : undefined;
}

export async function findEnded(
  repository: Repository,
  ids: ReadonlySet<ThreadId>,
  onDamage: OnDamage = {},
): Promise<ThreadPointer[]> {
  if (ids.size === 0) return [];
  const ended: ReadonlySet<string> = ids;
  const where = (name: string): boolean => ended.has(name.slice(name.lastIndexOf('/') + 1));
  return pointersOf(await repository.refs.list(HISTORY_PREFIX, { where, ...onDamage })).filter(({ id }) => ids.has(id));
}

/**
 * Finds a thread that has a ref, by its whole id. Costs as much as {@link getThread}.
 * @throws {BrokenRef} {BrokenPackedRefs} if it may have one that cannot be read
 */
export async function findThread(repository: Repository, id: ThreadId): Promise<ThreadPointer | undefined> {
  return (await search(repository, id))[0];
}

/**
 * Finds a thread by its id or by a prefix that only it has, or by the hash of its start or end; letters may be lower-case.
 *
 * Reads the names of active and ended threads: after an interrupted ending, even a whole id may have both refs. Then it looks
 * into the archive. A child thread without a ref is found through its callers.
 * @throws {ThreadNotFound} if there is none
 * @throws {BrokenRef} {BrokenPackedRefs} if no readable ref matches, and a damaged one may
 * @throws {UwfError} `ambiguous-thread` if there are several
 */
export async function getThread(repository: Repository, idOrPrefix: string): Promise<ThreadPointer> {
  const wanted = idOrPrefix.toUpperCase();
  let matches = wanted === '' ? [] : await search(repository, wanted);
  if (matches.length === 0) {
    // Rare, and more expensive.
    const { findByNode, findKept } = await import('./find-kept.ts');
    const pointers = await listPointers(repository, EVERYWHERE);
    matches = isNodeHash(wanted)
      ? await findByNode(repository, pointers, wanted)
      : await findKept(repository, pointers, wanted);
  }
  const [first, second] = matches;
  if (!first) {
    const { findArchivePlace } = await import('./archive-list.ts');
    throw new ThreadNotFound(idOrPrefix, await findArchivePlace(repository, wanted));
  }
  const ids = matches.map((match) => match.id);
  if (second) throw ambiguousThread(idOrPrefix, ids);
  return first;
}

/** Finds threads that have a ref or are archived by a prefix of the id. If there are none, throws the damage that may be the cause. */
async function search(repository: Repository, wanted: string): Promise<ThreadPointer[]> {
  let damage: RefDamage | undefined;
  const damaged = (found: RefDamage): void => {
    const id = threadOfDamage(found);
    // Damage of other refs does not matter.
    if (id === undefined ? !(found instanceof BrokenRef) : id.startsWith(wanted)) damage = found;
  };
  const matches = await findByPrefix(repository, wanted, { damaged });
  // A whole id that has a ref is not searched for in the archive.
  if (matches.length === 0 || !isThreadId(wanted)) {
    const { findArchived } = await import('./archive-list.ts');
    const known = new Set(matches.map(({ id }) => id));
    matches.push(...(await findArchived(repository, wanted, 2)).filter(({ id }) => !known.has(id)));
  }
  if (matches.length === 0 && damage !== undefined) throw damage;
  return matches;
}

/** Lists the threads that have a ref and whose ids begin so, in the order of their ids. Reads no other names. */
export async function findByPrefix(
  repository: Repository,
  wanted: string,
  onDamage: OnDamage = {},
): Promise<ThreadPointer[]> {
  const active = await repository.refs.list(ACTIVE_PREFIX, { startsWith: ACTIVE_PREFIX + wanted, ...onDamage });
  const history = await repository.refs.list(HISTORY_PREFIX, { lastPart: wanted, ...onDamage });
  return pointersOf([...active, ...history]).filter(({ id }) => id.startsWith(wanted));
}

/** The threads of refs, sorted by id. Of two refs of one thread the later one counts. */
function pointersOf(refs: readonly Ref[]): ThreadPointer[] {
  const pointers: ThreadPointer[] = [];
  let isSorted = true;
  for (const { name: ref, id: head } of refs) {
    const thread = threadOfRef(ref);
    if (thread === undefined) continue;
    const { id, isHistory } = thread;
    isSorted &&= (pointers.at(-1)?.id ?? '') < id;
    pointers.push({ id, ref, head, isHistory });
  }
  if (isSorted) return pointers;
  const byId = new Map(pointers.map((pointer) => [pointer.id, pointer]));
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
