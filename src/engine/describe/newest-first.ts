import { BrokenRef, type BrokenPackedRefs, type RefDamage } from '../../git/format/ref-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { findEnded, listPointers, newestActive, type OnDamage, threadOfDamage } from '../../thread/find-thread.ts';
import {
  ACTIVE_PREFIX,
  dayOfEnd,
  endedBetween,
  HISTORY_PREFIX,
  type ThreadId,
  type ThreadPointer,
} from '../../thread/thread-id.ts';
import { isOver, type ThreadStatus } from '../../thread/thread-status.ts';
import { findAbandoned } from '../leases/find-lease.ts';

type Wanted = {
  statuses?: readonly ThreadStatus[] | undefined;
  limit?: number | undefined;
  endedSinceMs?: number | undefined;
  endedBeforeMs?: number | undefined;
  /** Archived threads, and no others. */
  archived?: boolean | undefined;
  onDamaged?: ((damage: BrokenPackedRefs) => void) | undefined;
};

/** A list of more threads than this is long: in a pipe it is printed while the threads are read. */
const LONG_LIST = 1000;

/** Tells whether a list of threads looks at so many that it is long. */
export async function isLongList(repository: Repository, { statuses }: Wanted): Promise<boolean> {
  const prefixes = mayBeOver(statuses) ? [ACTIVE_PREFIX, HISTORY_PREFIX] : [ACTIVE_PREFIX];
  let count = 0;
  for (const prefix of prefixes) {
    count += (await repository.refs.list(prefix, { last: LONG_LIST + 1, damaged: () => {} })).length;
  }
  return count > LONG_LIST;
}

function mayBeOver(statuses: readonly ThreadStatus[] = []): boolean {
  return statuses.some((status) => isOver(status) || status === 'corrupt');
}

/** A thread whose ref cannot be read. */
type DamagedThread = { id: ThreadId; damage: BrokenRef };

/** The threads that may be listed, by their ids alone. */
export async function* newestFirst(
  repository: Repository,
  options: Wanted,
): AsyncGenerator<ThreadPointer | DamagedThread, void, void> {
  const damagedThreads = new Map<ThreadId, DamagedThread>();
  const damaged = (damage: RefDamage): void => {
    const id = threadOfDamage(damage);
    if (!(damage instanceof BrokenRef)) {
      if (options.onDamaged === undefined) throw damage;
      options.onDamaged(damage);
    } else if (id !== undefined) {
      damagedThreads.set(id, { id, damage });
    }
  };
  const newestDamaged = (isWanted: (id: ThreadId) => boolean): DamagedThread[] => {
    const wanted = [...damagedThreads.values()].filter(({ id }) => isWanted(id));
    for (const { id } of wanted) damagedThreads.delete(id);
    return wanted.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  };
  for await (const pointer of soundOnes(repository, options, { damaged })) {
    yield* newestDamaged((id) => id > pointer.id);
    damagedThreads.delete(pointer.id);
    yield pointer;
  }
  yield* newestDamaged(() => true);
}

async function* soundOnes(
  repository: Repository,
  { statuses, limit, endedSinceMs, endedBeforeMs, archived }: Wanted,
  onDamage: OnDamage,
): AsyncGenerator<ThreadPointer, void, void> {
  // The names of the refs of ended threads have the day.
  const isWanted = endedBetween(endedSinceMs, endedBeforeMs);
  if (archived) {
    const { findArchived } = await import('../../thread/archive/archive-list.ts');
    yield* (await findArchived(repository, '')).filter(({ ref }) => isWanted(dayOfEnd(ref))).toReversed();
    return;
  }
  if (mayBeOver(statuses)) {
    const where = (name: string): boolean => !name.startsWith(HISTORY_PREFIX) || isWanted(dayOfEnd(name));
    yield* (await listPointers(repository, { active: true, history: true }, { ...onDamage, where })).toReversed();
    return;
  }
  // An ending that a crash cut in two has left the thread among the active ones as well. It happens under a lease, which
  // is then left too.
  const abandoned = new Set(findAbandoned(repository));
  const ended = new Set((await findEnded(repository, abandoned, onDamage)).map(({ id }) => id));
  for await (const pointer of newestActive(repository, limit ?? LONG_LIST + 1, onDamage))
    if (!ended.has(pointer.id)) yield pointer;
}
