import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { addUsage, type Usage } from '../../schema/built-in/usage.ts';
import { findCalledNow, type ListedThreads, type SeenThreads } from '../../thread/find/find-children.ts';
import { readChildEnds } from '../../thread/read/light-chain.ts';
import { readReplaced } from '../../thread/read/replaced-steps.ts';
import { openUsage } from '../recovery/open-turns.ts';
import { ThreadMemory } from '../../thread/read/thread-memory.ts';
import {
  readPlace,
  stateCommit,
  type CommitOf,
  type ThreadPlace,
  type ThreadState,
} from '../../thread/read/thread-state.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';

/** A thread that has called others. */
type Caller = Pick<ThreadState, 'id' | 'start' | 'last' | 'tally'>;

/** A child thread, and what it has used with its own children. */
export type UsedChild = { id: ThreadId; usage: Usage | null };

/** What the children of a step have used, and the step before it that called threads. */
type UsageOfStep = { role: string; usage: Usage | null; before: ObjectId | null };

/** What a process has found out of the children of a caller. It takes many turns of a thread, and of its branches. */
type Known = {
  /** Of the children of past steps, by these. */
  ofSteps: Map<ObjectId, UsageOfStep>;
  /** Who called, where it stands, and the children of its open turn. */
  id: ThreadId;
  state: ObjectId;
  called: SeenThreads;
  /** By the heads of those. Promises, because many branches ask for it at the same time. */
  places: Map<ObjectId, Promise<ThreadPlace>>;
  /** What those have used that go on no more from these heads, with their children. */
  standing: Map<ObjectId, Usage | null>;
  /** Of the children of those, which go on while their callers stand still. */
  below: Map<ThreadId, Known>;
};

const memory = new ThreadMemory<Known>();

/**
 * Adds up what the child threads of a thread have used, with the children of these, by the roles that called them. Reads each
 * head once in a process.
 *
 * @param below the child whose turn it is, where it is not the thread's own: those of the turn that called it count, too
 */
export async function usageOfChildren(
  repository: Repository,
  caller: Caller,
  below?: UsedChild,
): Promise<ReadonlyMap<string, Usage | null>> {
  // This is asked for every branch of a block, and most call no thread.
  if (below === undefined && caller.tally.calling === null) return new Map();
  const known = upToDate(memory.get(repository, caller), caller);
  memory.set(repository, caller, known);
  return addUp(repository, caller, known, { hasOpenTurn: below !== undefined, current: below, listed: new Map() });
}

/**
 * @param hasOpenTurn whether the children of the turn that comes next count: those of one that was not finished
 * @param current the child among these whose usage is given
 * @param listed branches are listed once for all: most were started in the same few seconds
 */
async function addUp(
  repository: Repository,
  caller: Caller,
  { ofSteps, called, places, standing, below }: Known,
  { hasOpenTurn, current, listed }: { hasOpenTurn: boolean; current?: UsedChild | undefined; listed: ListedThreads },
): Promise<ReadonlyMap<string, Usage | null>> {
  const sums = new Map<string, Usage | null>();
  const add = (role: string, usage: Usage | null): unknown => sums.set(role, addUsage(sums.get(role) ?? null, usage));
  for (let id = caller.tally.calling; id !== null;) {
    const found: UsageOfStep = ofSteps.get(id) ?? (await readUsageOfStep(repository, caller, id));
    ofSteps.set(id, found);
    add(found.role, found.usage);
    id = found.before;
  }
  if (!hasOpenTurn) return sums;
  for (const { pointer, start } of await findCalledNow(repository, caller, caller.id, called, listed)) {
    const { id, head } = pointer;
    const role = start.node.parentRole;
    if (role === null) continue;
    const usage = id === current?.id ? current.usage : standing.get(head);
    if (usage !== undefined) {
      add(role, usage);
      continue;
    }
    const place = places.get(head) ?? readPlace(repository, head);
    places.set(head, place);
    const child = { id, ...(await place) };
    const known = upToDate(below.get(id), child);
    below.set(id, known);
    const used = await usageOfThread(repository, caller, child, known, listed);
    if (isStanding(child)) standing.set(head, used);
    add(role, used);
  }
  return sums;
}

/** A thread, and all that was called below it and is not over, in turns that are not over either. */
export async function findOpenFamily(
  repository: Repository,
  caller: Pick<Caller, 'id' | 'start' | 'last'>,
): Promise<ReadonlyMap<ThreadId, Pick<Caller, 'start' | 'last'>>> {
  const open = new Map<ThreadId, Pick<Caller, 'start' | 'last'>>([[caller.id, caller]]);
  const listed: ListedThreads = new Map();
  for (const [id, place] of open) {
    for (const { pointer } of await findCalledNow(repository, place, id, undefined, listed)) {
      if (pointer.isHistory || open.has(pointer.id)) continue;
      open.set(pointer.id, await readPlace(repository, pointer.head));
    }
  }
  return open;
}

/** Tells whether nothing that a thread has called can be running: it is over, or waits for something else. */
function isStanding({ head }: ThreadPlace): boolean {
  return head.kind === 'end' || (head.kind === 'suspend' && head.node.cause !== 'child');
}

/** What is known of a caller, without what its last turn called where it has gone on. Steps are the same in all forks. */
function upToDate(known: Known | undefined, caller: Caller): Known {
  const { id } = caller;
  const state = stateCommit(caller).id;
  if (known?.id === id && known.state === state) return known;
  const ofSteps: Known['ofSteps'] = known?.ofSteps ?? new Map();
  return { ofSteps, id, state, called: new Map(), places: new Map(), standing: new Map(), below: new Map() };
}

async function readUsageOfStep(repository: Repository, caller: Caller, id: ObjectId): Promise<UsageOfStep> {
  const step = await readThreadCommit(repository, id);
  if (step.kind !== 'step') throw new CorruptThread(id, 'it is no step');
  const { role, totals } = step.node;
  return { role, usage: await usageOfStep(repository, caller, step), before: totals.calling };
}

/**
 * What the children of a step have used: those that it took in, those of the steps that it took the place of, and those that it
 * left or a block has cancelled.
 */
export async function usageOfStep(
  repository: Repository,
  caller: Caller,
  step: CommitOf<'step'>,
): Promise<Usage | null> {
  const last = await stepBefore(repository, step);
  const children = new Map<ObjectId, ThreadId | undefined>();
  for (const each of [step, ...(await readReplaced(repository, step))]) {
    for (const end of await readChildEnds(repository, each)) children.set(end.id, undefined);
  }
  for (const { pointer } of await findCalledNow(repository, { start: caller.start, last }, caller.id)) {
    children.set(pointer.head, pointer.id);
  }
  let usage: Usage | null = null;
  for (const [head, id] of children) {
    const place = await readPlace(repository, head);
    const { node } = place.start;
    const child = isThreadId(node.id) && { ...place, id: id ?? node.id };
    if (!child) continue;
    const used = await usageOfThread(repository, caller, child, upToDate(undefined, child), new Map());
    usage = addUsage(usage, used);
  }
  return usage;
}

/** The step before a step; `undefined` for the first one. */
async function stepBefore(repository: Repository, step: CommitOf<'step'>): Promise<CommitOf<'step'> | undefined> {
  for (let [parent] = step.commit.parents; parent !== undefined;) {
    const before = await readThreadCommit(repository, parent);
    if (before.kind === 'step') return before;
    if (before.kind === 'start') return undefined;
    [parent] = before.commit.parents;
  }
  return undefined;
}

/** All that a child thread and its own children have used. */
async function usageOfThread(
  repository: Repository,
  caller: Caller,
  child: ThreadPlace & Pick<Caller, 'id'>,
  known: Known,
  listed: ListedThreads,
): Promise<Usage | null> {
  const { head, start, tally } = child;
  // A thread can be made to name one of its callers as its child.
  if (start.node.depth <= caller.start.node.depth) return null;
  let usage = addUsage(tally.usage, tally.replaced);
  for (const used of (await openUsage(repository, child.id)).values()) usage = addUsage(usage, used);
  const hasOpenTurn = head.kind !== 'end' || head.node.outcome !== 'completed';
  const ofChildren = await addUp(repository, child, known, { hasOpenTurn, listed });
  for (const more of ofChildren.values()) usage = addUsage(usage, more);
  return usage;
}
