import type { ObjectId } from '../../git/format/object-id.ts';
import { setMember } from '../../json.ts';
import type { Repository } from '../../git/repository.ts';
import { addUsage, type Usage, type UsageByRole } from '../../schema/built-in/schema-parts.ts';
import {
  type ChildThread,
  findCalledNow,
  findCalledSince,
  type ListedThreads,
  type SeenThreads,
} from '../../thread/find-children.ts';
import { openUsage } from '../recovery/open-turns.ts';
import { ThreadMemory } from '../../thread/context/context-history.ts';
import { readPlace, stateCommit, type ThreadPlace, type ThreadState, usageInAll } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/** A thread that has called others. */
type Caller = Pick<ThreadState, 'id' | 'start' | 'last' | 'tally'>;

/** A child thread, and what it has used with its own children. */
export type UsedChild = { id: ThreadId; usage: Usage | null };

/** What a process has found out of the children of a turn that is not over. It is asked for many turns, and for many branches. */
type Known = {
  /** Who called, where it stands, and its children. */
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
 * Adds up what the child threads of a thread have used, with the children of these, by the roles that called them: its head says it of
 * those that its steps took in or left. Reads each head of the others once in a process.
 *
 * @param below the child whose turn it is, where it is not the thread's own: those of the turn that called it count, too
 */
export async function usageOfChildren(
  repository: Repository,
  caller: Caller,
  below?: UsedChild,
): Promise<ReadonlyMap<string, Usage>> {
  const sums = new Map<string, Usage>();
  for (const [role, { children }] of caller.tally.roles) if (children !== null) sums.set(role, children);
  if (below === undefined) return sums;
  const known = upToDate(memory.get(repository, caller), caller);
  memory.set(repository, caller, known);
  for (const [role, usage] of await usageOfOpenTurn(repository, caller, known, { current: below, listed: new Map() })) {
    sums.set(role, addUsage(sums.get(role) ?? null, usage) ?? usage);
  }
  return sums;
}

/**
 * Adds up what children have used that their caller leaves, by the roles that called them.
 * @returns `undefined` if it leaves none
 */
export async function usageOfLeft(
  repository: Repository,
  caller: Caller,
  left: readonly ChildThread[],
): Promise<UsageByRole | undefined> {
  const byRole: UsageByRole = {};
  for (const { pointer, start } of left) {
    const child = { id: pointer.id, ...(await readPlace(repository, pointer.head)) };
    const used = await usageOfThread(repository, caller, child, upToDate(undefined, child), new Map());
    const role = start.node.parentRole;
    const sum = role === null ? null : addUsage(byRole[role] ?? null, used);
    if (role !== null && sum !== null) setMember(byRole, role, sum);
  }
  return left.length === 0 ? undefined : byRole;
}

/**
 * What the children of a turn have used that is not over, by the roles that called them.
 * @param current the child among these whose usage is given
 * @param listed branches are listed once for all: most were started in the same few seconds
 */
async function usageOfOpenTurn(
  repository: Repository,
  caller: Caller,
  { called, places, standing, below }: Known,
  { current, listed }: { current?: UsedChild; listed: ListedThreads },
): Promise<ReadonlyMap<string, Usage>> {
  const sums = new Map<string, Usage>();
  const add = (role: string, usage: Usage | null): void => {
    const sum = addUsage(sums.get(role) ?? null, usage);
    if (sum !== null) sums.set(role, sum);
  };
  for (const { pointer, start } of await findCalledSince(repository, caller, called, listed)) {
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

/** What is known of the children of a turn, if its thread still stands where it stood. */
function upToDate(known: Known | undefined, caller: Caller): Known {
  const { id } = caller;
  const state = stateCommit(caller).id;
  if (known?.id === id && known.state === state) return known;
  return { id, state, called: new Map(), places: new Map(), standing: new Map(), below: new Map() };
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
  let usage = usageInAll(tally);
  for (const used of (await openUsage(repository, child.id)).values()) usage = addUsage(usage, used);
  if (head.kind === 'end') return usage;
  for (const used of (await usageOfOpenTurn(repository, child, known, { listed })).values())
    usage = addUsage(usage, used);
  return usage;
}
