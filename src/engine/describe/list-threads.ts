import { setImmediate as letOthersWork } from 'node:timers/promises';
import { isShortOfFiles } from '../../git/format/object-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { type BrokenPackedRefs, BrokenRef, type RefDamage } from '../../git/format/ref-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { iso } from '../../time/clock.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
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
import { isOver, statusOfHead, type ThreadStatus } from '../../thread/thread-status.ts';
import { FOUND_CORRUPT } from '../../verify/remembered-verdicts.ts';
import type { Reading } from '../engine-context.ts';
import { findAbandoned, statusHere } from '../leases/find-lease.ts';
import { findInterruption, type Interruption } from '../recovery/interruption.ts';
import type { ListedFacts } from './facts.ts';
import { RememberedThreads } from './listed-facts.ts';

/** A thread in a list. */
export type ThreadSummary = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The workflow's name. */
  workflow: string;
  /** ISO 8601, UTC. */
  startedAt: string;
  /** Null where its ref is damaged. */
  head: ObjectId | null;
  endedAt: string | null;
  /** The beginning of the user's prompt, one line. */
  prompt: string;
  steps: number;
  /** The role that the moderator gives the next turn, or that waits for an answer; null for a thread that is over. */
  nextRole: string | null;
  /** What is left of the run whose process ended before it; null for a thread that is not interrupted. */
  interruption: Interruption | null;
  /** Why it is suspended, or how it ended. */
  reason: string | null;
  /** Where the reason is the output of a program, the last line of it that says something; else null. */
  summary: string | null;
  /** What suspended it; null for a thread that is not suspended. */
  cause: SuspendCause | null;
};

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
  /** Only these threads. */
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
export async function listThreads(engine: Reading, options: ListOptions = {}): Promise<ThreadSummary[]> {
  const found: ThreadSummary[] = [];
  for await (const summary of eachThread(engine, options)) found.push(summary);
  return inOrder(found, options);
}

/** Threads that were found newest first, in the order of a list. */
export function inOrder(found: ThreadSummary[], { limit, cursor }: ListOptions): ThreadSummary[] {
  if (limit !== undefined || cursor !== undefined) return found;
  const waiting = found.filter((summary) => summary.status === 'suspended');
  const others = found.filter((summary) => summary.status !== 'suspended');
  return [...waiting, ...others];
}

/**
 * How many threads are looked up together. Batches grow, so that the first threads are known at once; the threads of a larger
 * batch than the largest would lie in too many packs.
 */
const FIRST_BATCH = 32;
const MAX_BATCH = 4096;

/** Threads are read from a disk at once: without pauses, a long list would leave all other requests of a server unanswered. */
const PAUSE_EVERY = 50;

/**
 * Gives the threads of a list one after the other as they are known, newest first.
 * @param onLook is called for each thread that is looked at
 */
export async function* eachThread(
  engine: Reading,
  options: ListOptions,
  onLook: () => void = () => {},
): AsyncGenerator<ThreadSummary, void, void> {
  const { repository } = engine;
  const { statuses, limit = Infinity } = options;
  let count = 0;
  let looked = 0;
  if (limit === 0) return;
  const remembered = new RememberedThreads(repository);
  try {
    for await (const batch of inBatches(candidates(repository, options), Math.min(limit, FIRST_BATCH))) {
      remembered.expect(batch.flatMap((pointer) => ('damage' in pointer ? [] : pointer.head)));
      for (const pointer of batch) {
        onLook();
        looked += 1;
        if (looked % PAUSE_EVERY === 0) await letOthersWork();
        const summary =
          'damage' in pointer
            ? unreadable(pointer.id, null, pointer.damage)
            : await summaryIfLike(engine, pointer, statuses, remembered);
        if (summary === undefined) continue;
        const isWanted = statuses ? statuses.includes(summary.status) : !isOver(summary.status);
        const promptOf = async (): Promise<string | undefined> =>
          'damage' in pointer ? undefined : remembered.promptOf(pointer);
        if (!isWanted || !(await isLike(summary, options, promptOf))) continue;
        yield summary;
        count += 1;
        if (count === limit) return;
      }
    }
  } finally {
    remembered.save();
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

async function* inBatches<T>(items: AsyncIterable<T>, first: number): AsyncGenerator<T[], void, void> {
  let batch: T[] = [];
  let size = first;
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
    size = Math.min(size * 4, MAX_BATCH);
  }
  yield batch;
}

async function summaryIfLike(
  engine: Reading,
  pointer: ThreadPointer,
  statuses: readonly ThreadStatus[] | undefined,
  remembered: RememberedThreads,
): Promise<ThreadSummary | undefined> {
  const known = remembered.find(pointer);
  if (known === undefined && !(await mayHaveStatus(engine, pointer, statuses))) return undefined;
  return summaryFrom(engine, pointer, remembered, known);
}

/** Tells by its head alone whether a thread can have one of some statuses: reading the whole of it takes much longer. */
async function mayHaveStatus(
  { repository }: Reading,
  pointer: ThreadPointer,
  statuses: readonly ThreadStatus[] | undefined,
): Promise<boolean> {
  // A thread can be corrupt behind a sound head.
  if (statuses === undefined || statuses.includes('newer') || statuses.includes('corrupt')) return true;
  const { readThreadCommit } = await import('../../thread/thread-commit.ts');
  try {
    return statuses.includes(
      statusHere(repository, pointer.id, statusOfHead(await readThreadCommit(repository, pointer.head))),
    );
  } catch {
    return false;
  }
}

async function isLike(
  summary: ThreadSummary,
  wanted: ListOptions,
  promptOf: () => Promise<string | undefined>,
): Promise<boolean> {
  const { workflow, role, text, endedBeforeMs = Infinity, endedSinceMs = -Infinity } = wanted;
  if (workflow !== undefined && summary.workflow !== workflow) return false;
  if (role !== undefined && summary.nextRole !== role) return false;
  if (wanted.endedBeforeMs !== undefined || wanted.endedSinceMs !== undefined) {
    const endedMs = summary.endedAt === null ? Number.NaN : Date.parse(summary.endedAt);
    if (!(endedMs >= endedSinceMs && endedMs < endedBeforeMs)) return false;
  }
  if (text === undefined || hasText(summary.prompt, text)) return true;
  // The cache has only the first line of the prompt.
  return hasText((await promptOf()) ?? '', text);
}

function hasText(prompt: string, text: string): boolean {
  return prompt.toLowerCase().includes(text.toLowerCase());
}

/** A thread as a list has it, also where it cannot be read. */
export async function summaryOf(engine: Reading, pointer: ThreadPointer): Promise<ThreadSummary> {
  const remembered = new RememberedThreads(engine.repository);
  return summaryFrom(engine, pointer, remembered, remembered.find(pointer));
}

async function summaryFrom(
  engine: Reading,
  pointer: ThreadPointer,
  remembered: RememberedThreads,
  known: ListedFacts | undefined,
): Promise<ThreadSummary> {
  try {
    const facts = await remembered.factsOf(engine, pointer, known);
    return summarize(engine.repository, pointer, facts, remembered.statusHere(pointer, facts.status));
  } catch (error) {
    if (isShortOfFiles(error)) throw error;
    return unreadable(pointer.id, pointer.head, error);
  }
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

/** What a list and `show` say of a thread. */
export function summarize(
  repository: Repository,
  pointer: ThreadPointer,
  facts: ListedFacts,
  status: ThreadStatus = statusHere(repository, pointer.id, facts.status),
): ThreadSummary {
  return {
    thread: pointer.id,
    status,
    workflow: facts.workflow,
    startedAt: iso(facts.startedAtMs),
    head: pointer.head,
    endedAt: facts.endedAtMs === null ? null : iso(facts.endedAtMs),
    prompt: facts.prompt,
    steps: facts.steps,
    nextRole: facts.nextRole,
    interruption: status === 'interrupted' ? findInterruption(repository, pointer.id) : null,
    reason: facts.status === 'corrupt' ? FOUND_CORRUPT : facts.reason,
    summary: facts.status === 'corrupt' ? null : facts.summary,
    cause: facts.cause,
  };
}

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
