import { findRunning } from '../../engine/leases/find-lease.ts';
import type { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { RefEdit } from '../../git/ref-store.ts';
import type { Remote, RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import { assertDataError } from '../../thread/thread-errors.ts';
import type { RemovedThreads } from '../../thread/remove-thread.ts';
import { scratchRef, type ThreadId } from '../../thread/thread-id.ts';
import { workflowRef } from '../../workflow/registry/workflow-refs.ts';
import { joinRegistrations } from '../reconcile/join-registrations.ts';
import {
  createLineage,
  type ForkClaim,
  hold,
  type Reconciled,
  reconcileThread,
} from '../reconcile/reconcile-thread.ts';
import type { Held, Refusal, ThreadChange, WorkflowChange } from '../report.ts';
import type { Selection } from './select-refs.ts';
import { readSortedRefs, type SortedRefs, sortRefs, type Tip } from '../refs/sorted-refs.ts';
import { readTracked, refsOf, trackingEdits } from '../refs/tracking.ts';

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
  /** Edits of tracking refs. */
  tracking: RefEdit[];
  held: Held[];
  /** Refs whose counterparts here cannot be read: they stay as they are, and the others are fetched. */
  refused: Refusal[];
};

/** What a fetch is planned from. */
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
