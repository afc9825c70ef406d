import { setImmediate as letOthersWork } from 'node:timers/promises';
import { type BrokenPackedRefs, BrokenRef, isShortOfFiles, type RefDamage } from '../../git/format/errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { findEnded, listPointers, newestActive, type OnDamage, threadOfDamage } from '../../thread/find-thread.ts';
import { NewerFormat } from '../../thread/thread-errors.ts';
import {
  ACTIVE_PREFIX,
  dayOfEnd,
  endedBetween,
  HISTORY_PREFIX,
  type ThreadId,
  type ThreadPointer,
  threadTimeMs,
} from '../../thread/thread-id.ts';
import { isOver, type ThreadStatus } from '../../thread/thread-state.ts';
import { findVerdict, FOUND_CORRUPT, listCorrupt } from '../../verify/remembered-verdicts.ts';
import type { Reading } from '../engine-context.ts';
import { findAbandoned, listLeases, statusHere } from '../leases/find-lease.ts';
import { findInterruption } from '../recovery/turn-log.ts';
import type { ListedThread, ThreadSummary } from './read-listed.ts';

export type ListOptions = {
  /** Which statuses; default: all that are not over. */
  statuses?: readonly ThreadStatus[] | undefined;
  workflow?: string | undefined;
  /** Only threads in which this role is next, or waits for an answer. */
  role?: string | undefined;
  /** Only threads whose prompt has this text, in whatever case. */
  text?: string | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** Only threads that were over before then. */
  endedBeforeMs?: number | undefined;
  /** Only threads that ended since then. */
  endedSinceMs?: number | undefined;
  /** Archived threads, and no others. */
  archived?: boolean | undefined;
  limit?: number | undefined;
  among?: ReadonlySet<ThreadId> | undefined;
  /** Only threads that stand behind this one in the list. */
  cursor?: ThreadId | undefined;
  /** Is told of a file of packed refs that is damaged: what can be read is listed then; default: it is raised. */
  onDamaged?: ((damage: BrokenPackedRefs) => void) | undefined;
};

/**
 * Lists threads, newest first. A list of all has the suspended ones, which wait for a person, before the others; a piece
 * of it (`limit`, `cursor`) is in order of age alone, and costs what it shows.
 */
export async function listThreads(
  engine: Reading,
  options: ListOptions = {},
  known?: KnownThreads,
): Promise<ThreadSummary[]> {
  const found: ThreadSummary[] = [];
  for await (const summary of eachThread(engine, options, undefined, known)) found.push(summary);
  return inOrder(found, options);
}

/** Threads that were found newest first, in the order of a list. */
export function inOrder(found: ThreadSummary[], { limit, cursor }: ListOptions): ThreadSummary[] {
  if (limit !== undefined || cursor !== undefined) return found;
  const waiting = found.filter((summary) => summary.status === 'suspended');
  const others = found.filter((summary) => summary.status !== 'suspended');
  return [...waiting, ...others];
}

/** Threads are read from a disk at once: without pauses, a long list would leave all other requests of a server unanswered. */
const PAUSE_EVERY = 50;

/** What was read of threads, for who lists them again and again. */
export type KnownThreads = Map<ThreadId, ListedThread>;

/**
 * Gives the threads of a list one after the other as they are known, newest first.
 * @param onLook is called for each thread that is looked at
 */
export async function* eachThread(
  engine: Reading,
  options: ListOptions,
  onLook: () => void = () => {},
  known?: KnownThreads,
): AsyncGenerator<ThreadSummary, void, void> {
  const { repository } = engine;
  const { statuses, limit = Infinity } = options;
  let count = 0;
  let looked = 0;
  if (limit === 0) return;
  const here = whatIsHere(repository);
  for await (const pointer of candidates(repository, options)) {
    onLook();
    looked += 1;
    if (looked % PAUSE_EVERY === 0) await letOthersWork();
    const summary =
      'damage' in pointer
        ? unreadable(pointer.id, null, pointer.damage)
        : await summaryIfLike(engine, pointer, here, statuses, known);
    if (summary === undefined) continue;
    const isWanted = statuses ? statuses.includes(summary.status) : !isOver(summary.status);
    if (!isWanted || !(await isLike(repository, summary, options))) continue;
    yield summary;
    count += 1;
    if (count === limit) return;
  }
}

async function* candidates(repository: Repository, options: ListOptions): ReturnType<typeof newestFirst> {
  const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, cursor, among } = options;
  for await (const pointer of newestFirst(repository, options)) {
    const timeMs = threadTimeMs(pointer.id);
    if (timeMs < sinceMs) return;
    if (among?.has(pointer.id) === false) continue;
    if (timeMs <= untilMs && (cursor === undefined || pointer.id < cursor)) yield pointer;
  }
}

/** What this machine knows of threads beside their commits. */
type Here = { corrupt: ReadonlySet<string>; leased: ReadonlySet<ThreadId> | undefined };

function whatIsHere(repository: Repository): Here {
  const leased = repository.stateDir === undefined ? undefined : new Set(listLeases(repository));
  return { corrupt: listCorrupt(repository), leased };
}

async function summaryIfLike(
  engine: Reading,
  pointer: ThreadPointer,
  here: Here,
  statuses?: readonly ThreadStatus[],
  known?: KnownThreads,
): Promise<ThreadSummary | undefined> {
  const { repository } = engine;
  const { id, head } = pointer;
  // A thread can be corrupt behind a sound head.
  const isAny = statuses === undefined || statuses.includes('newer') || statuses.includes('corrupt');
  const mayBe = (status: ThreadStatus): boolean => isAny || statuses.includes(statusAt(repository, id, status, here));
  const before = known?.get(id);
  try {
    // Reading and deciding load much more than a list of nothing.
    const { readListed } = await import('./read-listed.ts');
    const listed = before?.head === head ? before : await readListed(engine, pointer, mayBe);
    if (listed === undefined) return undefined;
    known?.set(id, listed);
    return withWhatIsHere(repository, pointer, listed, here);
  } catch (error) {
    if (isShortOfFiles(error)) throw error;
    return unreadable(id, head, error);
  }
}

/** A thread as it is on this machine: whether a process runs it, and what verification has found. */
export function withWhatIsHere(
  repository: Repository,
  pointer: ThreadPointer,
  listed: ListedThread,
  here: Here = whatIsHere(repository),
): ThreadSummary {
  if (findVerdict(repository, pointer, here.corrupt) !== undefined)
    return { ...listed, status: 'corrupt', reason: FOUND_CORRUPT, summary: null };
  const status = statusAt(repository, pointer.id, listed.status, here);
  return {
    ...listed,
    status,
    interruption: status === 'interrupted' ? findInterruption(repository, pointer.id) : null,
  };
}

function statusAt(repository: Repository, id: ThreadId, status: ThreadStatus, { leased }: Here): ThreadStatus {
  return leased?.has(id) === false ? status : statusHere(repository, id, status);
}

async function isLike(repository: Repository, summary: ThreadSummary, wanted: ListOptions): Promise<boolean> {
  const { workflow, role, text, endedBeforeMs = Infinity, endedSinceMs = -Infinity } = wanted;
  if (workflow !== undefined && summary.workflow !== workflow) return false;
  if (role !== undefined && summary.nextRole !== role) return false;
  if (wanted.endedBeforeMs !== undefined || wanted.endedSinceMs !== undefined) {
    const endedMs = summary.endedAt === null ? Number.NaN : Date.parse(summary.endedAt);
    if (!(endedMs >= endedSinceMs && endedMs < endedBeforeMs)) return false;
  }
  if (text === undefined || hasText(summary.prompt, text)) return true;
  if (summary.head === null) return false;
  // A summary has only the first line of the prompt.
  const { readThreadPrompt } = await import('../../thread/thread-chain.ts');
  return hasText((await readThreadPrompt(repository, summary.head)) ?? '', text);
}

function hasText(prompt: string, text: string): boolean {
  return prompt.toLowerCase().includes(text.toLowerCase());
}

/** A thread as a list has it, also where it cannot be read. */
export async function summaryOf(engine: Reading, pointer: ThreadPointer): Promise<ThreadSummary> {
  const summary = await summaryIfLike(engine, pointer, whatIsHere(engine.repository));
  return summary ?? unreadable(pointer.id, pointer.head, undefined);
}

/** A thread that cannot be read is listed too, so that it is found. */
function unreadable(thread: ThreadId, head: ObjectId | null, error: unknown): ThreadSummary {
  return {
    thread,
    status: error instanceof NewerFormat ? 'newer' : 'corrupt',
    workflow: '',
    startedAt: new Date(threadTimeMs(thread)).toISOString(),
    head,
    endedAt: null,
    prompt: '',
    steps: 0,
    nextRole: null,
    interruption: null,
    reason: error instanceof Error ? error.message : null,
    summary: null,
    cause: null,
  };
}

type Wanted = Pick<ListOptions, 'statuses' | 'limit' | 'endedSinceMs' | 'endedBeforeMs' | 'archived' | 'onDamaged'>;

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
    const { findArchived } = await import('../../thread/archive-list.ts');
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
