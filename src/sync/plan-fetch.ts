import { findRunning } from '../engine/leases/find-lease.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { RefEdit, Repository } from '../git/repository.ts';
import type { ObjectBatch } from '../git/stores/publish.ts';
import { matcherOf } from '../git/transport/git-output.ts';
import type { Remote, RemoteRef } from '../git/transport/remote.ts';
import { removedRef, type RemovedThreads } from '../thread/remove-thread.ts';
import { ambiguousThread, assertDataError } from '../thread/thread-errors.ts';
import {
  ACTIVE_PREFIX,
  activeRef,
  DAY_MS,
  endedBetween,
  HISTORY_PREFIX,
  scratchRef,
  type ThreadId,
  threadTimeMs,
  timePrefix,
  utcDate,
} from '../thread/thread-id.ts';
import { readState, stateCommit } from '../thread/thread-state.ts';
import { workflowRef } from '../workflow/registry/workflow-refs.ts';
import {
  createLineage,
  type ForkClaim,
  hold,
  joinRegistrations,
  type Reconciled,
  reconcileThread,
} from './reconcile-thread.ts';
import type { Held, Refusal, SyncOptions, ThreadChange, WorkflowChange } from './report.ts';
import {
  parseSharedRef,
  readSortedRefs,
  readTracked,
  refsOf,
  SHARED_PATTERNS,
  type SortedRefs,
  sortRefs,
  ThreadNotThere,
  type Tip,
  trackingEdits,
} from './shared-refs.ts';

/** Which refs of a remote a fetch asks for. */
export type Selection = {
  /** Names or patterns. */
  refs: readonly string[];
  named: ReadonlySet<ThreadId>;
  /** What the user named and no ref has: the remote's archive may list it. */
  unknown: readonly string[];
  /** Tells whether the fetch would ask for a ref of this name, if the remote had it. */
  covers(name: string): boolean;
};

/**
 * Selects the refs to fetch. If only some threads are wanted, lists the remote's refs first.
 * @param mayBeMissing true if the remote may lack a named thread
 */
export async function selectRefs(remote: Remote, options: SyncOptions, mayBeMissing: boolean): Promise<Selection> {
  const { threads, sinceMs, endedSinceMs, endedUntilMs, signal } = options;
  const isByEnd = endedSinceMs !== undefined || endedUntilMs !== undefined;
  if (threads === undefined && sinceMs === undefined && !isByEnd) {
    return { refs: SHARED_PATTERNS, named: new Set(), unknown: [], covers: isSharedBy(SHARED_PATTERNS) };
  }
  const listed = await remote.list(
    SHARED_PATTERNS.flatMap((pattern) => {
      if (!isByEnd || threads !== undefined) return [pattern];
      if (pattern.startsWith(ACTIVE_PREFIX)) return [];
      return pattern.startsWith(HISTORY_PREFIX)
        ? patternsOfDays(endedSinceMs ?? -Infinity, endedUntilMs ?? Infinity, '*')
        : [pattern];
    }),
    signal,
  );
  const { threads: there, archive } = sortRefs(listed);
  const isWantedDay = endedBetween(endedSinceMs, endedUntilMs);
  const hasEndedThen = (thread: ThreadId): boolean =>
    (there.get(thread) ?? []).some(({ endedOn }) => endedOn !== undefined && isWantedDay(endedOn));
  const named = new Set<ThreadId>();
  const unknown: string[] = [];
  for (const text of threads ?? []) {
    const thread = resolve(text, there.keys());
    if (thread !== undefined) named.add(thread);
    else if (archive !== undefined) unknown.push(text);
    else if (!mayBeMissing) throw new ThreadNotThere(text, remote.name);
  }
  const covers = (name: string): boolean => {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') return false;
    if (ref.kind === 'archive') return true;
    if (threads !== undefined) return ref.kind !== 'workflow' && named.has(ref.thread);
    if (ref.kind === 'workflow') return true;
    if (isByEnd && !hasEndedThen(ref.thread)) return false;
    return sinceMs === undefined || threadTimeMs(ref.thread) >= sinceMs;
  };
  return { refs: listed.map(({ name }) => name).filter(covers), named, unknown, covers };
}

/**
 * Selects the refs of some patterns or names, with no thread named by a user.
 * @param refs patterns with one `*` at the end, or names
 */
export function selectPatterns(refs: readonly string[]): Selection {
  return { refs, named: new Set(), unknown: [], covers: isSharedBy(refs) };
}

function isSharedBy(patterns: readonly string[]): (name: string) => boolean {
  const isWanted = matcherOf(patterns);
  return (name) => isWanted(name) && typeof parseSharedRef(name) !== 'string';
}

export function resolve(text: string, threads: Iterable<ThreadId>): ThreadId | undefined {
  const wanted = text.toUpperCase();
  const found = [...threads].filter((thread) => thread.startsWith(wanted));
  const [first, second] = found;
  if (first === undefined || wanted === '') return undefined;
  if (second !== undefined) throw ambiguousThread(text, found);
  return first;
}

/** The edits of one thread or workflow: one transaction, reported when it is done. */
export type FetchPart = {
  edits: RefEdit[];
  thread?: ThreadChange;
  workflow?: WorkflowChange;
  /** Objects to write before the refs move. */
  batch?: ObjectBatch | undefined;
};

/** What a fetch changes in this repository, in order. */
type FetchPlan = {
  /** Forks that keep commits which the other edits drop. Their refs are created first. */
  forks: FetchPart[];
  parts: FetchPart[];
  tracking: RefEdit[];
  held: Held[];
  /** Refs whose counterparts here cannot be read: they stay as they are, and the others are fetched. */
  refused: Refusal[];
};

export type FetchFacts = {
  remote: Remote;
  /** The remote's refs that passed all checks. */
  accepted: readonly RemoteRef[];
  /** The names of all refs of the remote. */
  namesThere: ReadonlySet<string>;
  selection: Selection;
  removed: RemovedThreads;
  remoteWins?: boolean | undefined;
};

/** Compares what was fetched with this repository's refs. Writes nothing. */
export async function planFetch(repository: Repository, facts: FetchFacts): Promise<FetchPlan> {
  const here = await readSortedRefs(repository);
  const there = sortRefs(facts.accepted);
  const tracked = await readTracked(repository, facts.remote);
  const threads = await reconcileAll(repository, facts, here, there, sortRefs(refsOf(tracked)));
  const plan: FetchPlan = { forks: [], parts: [], tracking: trackingOf(facts, tracked), held: [], refused: [] };
  for (const [thread, { edits, change, held: reason }] of threads) {
    if (reason !== undefined) plan.held.push({ thread, reason });
    if (edits.length === 0) continue;
    const scratch = change?.change === 'removed' ? await repository.refs.read(scratchRef(thread)) : undefined;
    if (scratch !== undefined) edits.push({ name: scratchRef(thread), expected: scratch, value: null });
    (change?.change === 'forked' ? plan.forks : plan.parts).push({ edits, ...(change && { thread: change }) });
  }
  for (const [workflow, id] of there.workflows) {
    const before = here.workflows.get(workflow) ?? null;
    const name = workflowRef(workflow);
    const joined = await joinRegistrations(repository.objects, before ?? undefined, id).catch(refusing(plan, name));
    if (joined === undefined) continue;
    const { kind: change, head, batch } = joined;
    const edits = [{ name, expected: before, value: head }];
    plan.parts.push({ edits, workflow: { workflow, change, head, before }, batch });
  }
  return plan;
}

async function reconcileAll(
  repository: Repository,
  { selection, removed, remoteWins }: FetchFacts,
  here: SortedRefs,
  there: SortedRefs,
  seen: SortedRefs,
): Promise<Map<ThreadId, Reconciled>> {
  const lineage = createLineage(repository.objects);
  const running = new Set(findRunning(repository));
  const done = new Map<ThreadId, Reconciled>();
  const claims = new Map<ThreadId, ForkClaim[]>();
  const waiting = [...new Set([...there.threads.keys(), ...there.removed.keys(), ...cutInTwo(here, selection)])];
  for (let thread = waiting.pop(); thread !== undefined; thread = waiting.pop()) {
    const sides = {
      thread,
      here: here.threads.get(thread) ?? [],
      there: there.threads.get(thread) ?? [],
      claims: claims.get(thread) ?? [],
      seen: seen.threads.get(thread) ?? [],
      isRemovedHere: removed.has(thread),
      isRemovedThere: there.removed.has(thread),
      isNamed: selection.named.has(thread),
      isRunning: running.has(thread),
      remoteWins,
    };
    const isOpen = sides.claims.length > 0 || sides.isRemovedThere;
    if (isSettled(sides.here, sides.there) && !isOpen) continue;
    const result = await reconcileThread(sides, lineage).catch(asHeld);
    done.set(thread, result);
    for (const claim of result.claims) {
      const known = claims.get(claim.fork) ?? [];
      if (known.some(({ of, tip }) => of === thread && tip.id === claim.tip.id)) continue;
      claims.set(claim.fork, [...known, claim]);
      waiting.push(claim.fork);
    }
  }
  return done;
}

/** Threads that have two refs here: after a crash between the two edits of an ending, or a push into this repository. */
function cutInTwo({ threads }: SortedRefs, { named }: Selection): ThreadId[] {
  const cut = [...threads].filter(([, tips]) => tips.length > 1).map(([thread]) => thread);
  return named.size === 0 ? cut : cut.filter((thread) => named.has(thread));
}

/** Tells whether both sides agree, without reading commits. This holds for most threads. */
function isSettled(here: readonly Tip[], there: readonly Tip[]): boolean {
  const [ours, ...others] = here;
  const [theirs, ...strays] = there;
  if (ours === undefined || others.length > 0 || strays.length > 0) return false;
  return theirs === undefined || (theirs.id === ours.id && theirs.endedOn === ours.endedOn);
}

/** Holds a thread whose data cannot be read, so that the others are fetched. */
function asHeld(error: unknown): Reconciled {
  assertDataError(error);
  return hold(error.message);
}

/** What a promise's `catch` is given: data here that cannot be read is why a ref is refused. */
function refusing({ refused }: FetchPlan, ref: string): (error: unknown) => undefined {
  return (error) => {
    assertDataError(error);
    refused.push({ ref, reason: error.message });
  };
}

/** Updates the tracking refs of what was accepted, and deletes those of what the remote no longer has. */
function trackingOf(
  { remote, accepted, namesThere, selection }: FetchFacts,
  tracked: ReadonlyMap<string, ObjectId>,
): RefEdit[] {
  const gone = [...tracked.keys()].filter((name) => selection.covers(name) && !namesThere.has(name));
  return trackingEdits(remote, tracked, [
    // The ends of archived threads have no refs there.
    ...accepted.filter(({ name }) => selection.covers(name)).map(({ name, id }) => ({ name, value: id })),
    ...gone.map((name) => ({ name, value: null })),
  ]);
}

/** A thread may have ended on another day than it would here, by the clock of the machine that ended it. */
const DAYS_AROUND = 4;
/** A longer time is one pattern for all days. */
const MAX_DAYS = 100;

/** The names of refs that a thread which was active a moment ago can have, and of the mark that it was removed. */
export function placesNow(thread: ThreadId, nowMs: number): string[] {
  return [activeRef(thread), removedRef(thread), ...patternsAround(nowMs, nowMs, thread)];
}

/** Patterns of the refs of the children that a thread called since its last step: their ids begin with its time. */
export async function placesOfChildren(repository: Repository, thread: ThreadId, head: ObjectId): Promise<string[]> {
  const { atMs } = stateCommit(await readState(repository, thread, head)).commit.committer;
  const prefix = timePrefix(atMs);
  return [`${ACTIVE_PREFIX}${prefix}*`, ...patternsAround(atMs, repository.now(), `${prefix}*`)];
}

function patternsAround(sinceMs: number, untilMs: number, name: string): string[] {
  return patternsOfDays(sinceMs - DAYS_AROUND * DAY_MS, untilMs + DAYS_AROUND * DAY_MS, name);
}

/**
 * Patterns for the refs of threads that ended in a time.
 * @param name the last part of their names
 */
function patternsOfDays(sinceMs: number, untilMs: number, name: string): string[] {
  if (untilMs - sinceMs > MAX_DAYS * DAY_MS) return [`${HISTORY_PREFIX}*`];
  const patterns: string[] = [];
  for (let dayMs = Math.floor(sinceMs / DAY_MS) * DAY_MS; dayMs < untilMs; dayMs += DAY_MS) {
    patterns.push(`${HISTORY_PREFIX}${utcDate(dayMs)}/${name}`);
  }
  return patterns;
}
