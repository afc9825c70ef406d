import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { addUsage, type Usage } from '../../schema/built-in/usage.ts';
import { findCalledNow, type SeenThreads } from '../../thread/find/find-children.ts';
import { readChildEnds } from '../../thread/read/light-chain.ts';
import { ThreadMemory } from '../../thread/read/thread-memory.ts';
import { readPlace, stateCommit, type CommitOf, type ThreadState } from '../../thread/read/thread-state.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';

/** A thread that has called others. */
type Caller = Pick<ThreadState, 'id' | 'start' | 'last' | 'tally'>;

/** A child thread: its head, and the id under which this machine keeps what it knows of it. */
type Child = { id: ThreadId | undefined; head: ObjectId };

/** What a process has found out of the children of a caller. It takes many turns of a thread, and of its branches. */
type Known = {
  /** Of the children of past steps, by these. */
  ofSteps: Map<ObjectId, { role: string; usage: Usage | null }>;
  /** Who called, where it stands, and the children of its open turn. */
  id: ThreadId;
  state: ObjectId;
  called: SeenThreads;
  /** By the heads of those. Promises, because many branches ask for it at the same time. */
  usage: Map<ObjectId, Promise<Usage | null>>;
};

const memory = new ThreadMemory<Known>();

/**
 * Adds up what the child threads of a thread have used, with the children of these, by the roles that called them. Reads each
 * head once in a process.
 *
 * @param hasOpenTurn whether the children of the turn that comes next count, too: those of one that was not finished
 */
export async function usageOfChildren(
  repository: Repository,
  caller: Caller,
  hasOpenTurn: boolean,
): Promise<ReadonlyMap<string, Usage | null>> {
  // Branches are many, and most call nothing.
  if (!hasOpenTurn && caller.tally.calling.length === 0) return new Map();
  return addUp(repository, caller, hasOpenTurn, knownOf(repository, caller));
}

async function addUp(
  repository: Repository,
  caller: Caller,
  hasOpenTurn: boolean,
  { ofSteps, called, usage }: Known,
): Promise<ReadonlyMap<string, Usage | null>> {
  const sums = new Map<string, Usage | null>();
  const add = (role: string, usage: Usage | null): unknown => sums.set(role, addUsage(sums.get(role) ?? null, usage));
  for (const id of caller.tally.calling) {
    const found = ofSteps.get(id) ?? (await usageOfStep(repository, caller, id));
    ofSteps.set(id, found);
    add(found.role, found.usage);
  }
  if (!hasOpenTurn) return sums;
  for (const { pointer, start } of await findCalledNow(repository, caller, caller.id, called)) {
    const { head } = pointer;
    const used = usage.get(head) ?? usageOfThread(repository, caller, pointer);
    usage.set(head, used);
    if (start.node.parentRole !== null) add(start.node.parentRole, await used);
  }
  return sums;
}

function knownOf(repository: Repository, caller: Caller): Known {
  const nothing = nothingKnown(caller);
  const known = memory.get(repository, caller);
  if (known?.id === nothing.id && known.state === nothing.state) return known;
  // Steps are the same in all forks.
  const fresh = { ...nothing, ...(known && { ofSteps: known.ofSteps }) };
  memory.set(repository, caller, fresh);
  return fresh;
}

function nothingKnown(caller: Caller): Known {
  return { id: caller.id, state: stateCommit(caller).id, ofSteps: new Map(), called: new Map(), usage: new Map() };
}

/** What the children of a step have used: those that it took in, and those that it left or a block has cancelled. */
async function usageOfStep(
  repository: Repository,
  caller: Caller,
  id: ObjectId,
): Promise<{ role: string; usage: Usage | null }> {
  const step = await readThreadCommit(repository, id);
  if (step.kind !== 'step') throw new CorruptThread(id, 'it is no step');
  const last = await stepBefore(repository, step);
  const children = new Map<ObjectId, Child>();
  for (const end of await readChildEnds(repository, step)) children.set(end.id, { id: undefined, head: end.id });
  for (const { pointer } of await findCalledNow(repository, { start: caller.start, last }, caller.id)) {
    children.set(pointer.head, pointer);
  }
  let usage: Usage | null = null;
  for (const child of children.values()) usage = addUsage(usage, await usageOfThread(repository, caller, child));
  return { role: step.node.role, usage };
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
async function usageOfThread(repository: Repository, caller: Caller, { id, head }: Child): Promise<Usage | null> {
  const place = await readPlace(repository, head, id === undefined ? [] : [id], undefined);
  const { node } = place.start;
  // A thread can be made to name one of its callers as its child.
  if (node.depth <= caller.start.node.depth || !isThreadId(node.id)) return null;
  let usage = addUsage(place.tally.usage, place.tally.replaced);
  const child = { ...place, id: id ?? node.id };
  const hasOpenTurn = place.head.kind !== 'end' || place.head.node.outcome !== 'completed';
  const ofChildren = await addUp(repository, child, hasOpenTurn, nothingKnown(child));
  for (const more of ofChildren.values()) usage = addUsage(usage, more);
  return usage;
}
