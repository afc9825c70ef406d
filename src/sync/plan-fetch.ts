import { findRunning } from '../engine/find-lease.ts';
import { UwfError } from '../errors.ts';
import type { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { RefEdit } from '../git/ref-store.ts';
import type { Remote, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import type { RemovedThreads } from '../thread/removed-threads.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { scratchRef } from '../thread/thread-refs.ts';
import { workflowRef } from '../workflow/workflow-refs.ts';
import { joinRegistrations } from './join-registrations.ts';
import { createLineage } from './lineage.ts';
import { reconcileRecord, reconcileRedacted } from './reconcile-redacted.ts';
import type { Redactions } from './redactions.ts';
import { reconcileThread, type Claim, type Lineage, type Reconciled } from './reconcile-thread.ts';
import type { Held, ThreadChange, WorkflowChange } from './report.ts';
import type { Selection } from './select-refs.ts';
import type { Tip } from './shared-ref.ts';
import { readStanding, standingOf, type Standing } from './standing.ts';
import { readTracked, refsOf, trackingEdits } from './tracking.ts';

/** What belongs to one thread or workflow: it is done as a whole, and told of when it is done. */
export type FetchPart = {
  edits: RefEdit[];
  thread?: ThreadChange;
  workflow?: WorkflowChange;
  /** What has to be written before. */
  batch?: ObjectBatch;
};

/** What a fetch changes here, in the order in which it has to be done. */
export type FetchPlan = {
  /** Forks that keep what others no longer lead to: they are there before anything else moves. */
  forks: FetchPart[];
  parts: FetchPart[];
  /** What is remembered of the remote. */
  tracking: RefEdit[];
  held: Held[];
};

/** What a fetch brought and knows. */
export type FetchFacts = {
  remote: Remote;
  /** What the remote has, and was found sound. */
  accepted: readonly RemoteRef[];
  /** The names of all that it has. */
  namesThere: ReadonlySet<string>;
  selection: Selection;
  removed: RemovedThreads;
  /** What was said here and there of threads that secrets were taken out of. */
  redactions: Redactions;
};

/** Compares what was brought with what is here at this moment. Writes nothing. */
export async function planFetch(repository: Repository, facts: FetchFacts): Promise<FetchPlan> {
  const here = await readStanding(repository);
  const there = standingOf(facts.accepted);
  const tracked = await readTracked(repository, facts.remote);
  const held: Held[] = [];
  const threads = await reconcileAll(repository, facts, here, there, standingOf(refsOf(tracked)), held);
  const plan: FetchPlan = { forks: [], parts: [], tracking: trackingOf(facts, tracked), held };
  for (const [thread, { edits, change }] of threads) {
    if (edits.length === 0) continue;
    const scratch = change?.change === 'removed' ? await repository.refs.read(scratchRef(thread)) : undefined;
    if (scratch !== undefined) edits.push({ name: scratchRef(thread), expected: scratch, value: null });
    (change?.change === 'forked' ? plan.forks : plan.parts).push({ edits, ...(change && { thread: change }) });
  }
  for (const [thread, id] of there.redacted) {
    const part = await reconcileRecord(repository, thread, here.redacted.get(thread), id);
    if (part) plan.parts.push(part);
  }
  for (const [workflow, id] of there.workflows) {
    const part = await reconcileWorkflow(repository, workflow, here.workflows.get(workflow), id);
    if (part) plan.parts.push(part);
  }
  return plan;
}

async function reconcileAll(
  repository: Repository,
  { selection, removed, redactions }: FetchFacts,
  here: Standing,
  there: Standing,
  seen: Standing,
  held: Held[],
): Promise<Map<ThreadId, Reconciled>> {
  const { relate, forkId } = createLineage(repository.objects);
  const lineage: Lineage = { relate: redactions.relating(relate), forkId };
  const running = new Set(findRunning(repository));
  const done = new Map<ThreadId, Reconciled>();
  const claims = new Map<ThreadId, Claim[]>();
  const waiting = [
    ...new Set([
      ...there.threads.keys(),
      ...there.removed.keys(),
      ...there.redacted.keys(),
      ...cutInTwo(here, selection),
    ]),
  ];
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
    };
    const isGone = sides.here.some(({ id }) => redactions.isGone(id));
    const isOpen = sides.claims.length > 0 || sides.isRemovedThere || isGone;
    if (isSettled(sides.here, sides.there) && !isOpen) continue;
    const result = await reconcileRedacted(repository, sides, redactions, () => reconcileThread(sides, lineage)).catch(
      (error: unknown) => asHeld(error),
    );
    done.set(thread, result);
    for (const claim of result.claims) {
      const known = claims.get(claim.fork) ?? [];
      if (known.some(({ of, tip }) => of === thread && tip.id === claim.tip.id)) continue;
      claims.set(claim.fork, [...known, claim]);
      waiting.push(claim.fork);
    }
  }
  for (const [thread, { held: reason }] of done) if (reason !== undefined) held.push({ thread, reason });
  return done;
}

/** Threads of this repository that a crash, or a push of somebody's own, has left under two refs. */
function cutInTwo({ threads }: Standing, { named }: Selection): ThreadId[] {
  const cut = [...threads].filter(([, tips]) => tips.length > 1).map(([thread]) => thread);
  return named.size === 0 ? cut : cut.filter((thread) => named.has(thread));
}

/** By far the most threads: nothing has to be looked up. */
function isSettled(here: readonly Tip[], there: readonly Tip[]): boolean {
  const [ours, ...others] = here;
  const [theirs, ...strays] = there;
  if (ours === undefined || others.length > 0 || strays.length > 0) return false;
  return theirs === undefined || (theirs.id === ours.id && theirs.endedOn === ours.endedOn);
}

/** One thread that cannot be reconciled, because of what it is made of, does not keep the others from it. */
function asHeld(error: unknown): Reconciled {
  if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
  return { edits: [], claims: [], held: error.message };
}

async function reconcileWorkflow(
  repository: Repository,
  workflow: string,
  before: ObjectId | undefined,
  there: ObjectId,
): Promise<FetchPart | undefined> {
  const name = workflowRef(workflow);
  if (before === undefined) {
    const change: WorkflowChange = { workflow, change: 'new', head: there, before: null };
    return { edits: [{ name, expected: null, value: there }], workflow: change };
  }
  const joined = await joinRegistrations(repository.objects, before, there);
  if (joined.kind === 'same' || joined.kind === 'ahead') return undefined;
  const { head, kind } = joined;
  return {
    edits: [{ name, expected: before, value: head }],
    workflow: { workflow, change: kind, head, before },
    ...(kind === 'joined' && { batch: joined.batch }),
  };
}

/** What was taken is remembered, and what the remote no longer has is forgotten; the rest stays as it was seen before. */
function trackingOf(
  { remote, accepted, namesThere, selection }: FetchFacts,
  tracked: ReadonlyMap<string, ObjectId>,
): RefEdit[] {
  const gone = [...tracked.keys()].filter((name) => selection.covers(name) && !namesThere.has(name));
  return trackingEdits(remote, tracked, [
    ...accepted.map(({ name, id }) => ({ name, value: id })),
    ...gone.map((name) => ({ name, value: null })),
  ]);
}
