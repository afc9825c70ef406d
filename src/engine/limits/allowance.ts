import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { setMember } from '../../json.ts';
import { addUsage, type MoreLimits, type Usage, type UsageByRole } from '../../schema/built-in/schema-parts.ts';
import {
  type ChildThread,
  findCalledNow,
  findCalledSince,
  type ListedThreads,
  type SeenThreads,
} from '../../thread/find-children.ts';
import { findThread } from '../../thread/find-thread.ts';
import { nothingForDataError } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import {
  childUsageOf,
  type CommitOf,
  NO_TURN,
  readPlace,
  readReplaced,
  readState,
  stateCommit,
  stateHash,
  sumOf,
  type ThreadPlace,
  type ThreadState,
  usageInAll,
} from '../../thread/thread-state.ts';
import { findBlock, findRole, type WorkflowDefinition } from '../../workflow/definition.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { Deciding, EngineContext } from '../engine-context.ts';
import { openUsage } from '../recovery/turn-log.ts';
import { type Allowance, budgets, combineLimits, findLimitReached, type LimitReached } from './limits.ts';

type DefinedThread = { engine: Deciding; state: ThreadState; definition: WorkflowDefinition };

/** A turn of a role, as far as its limits count it. */
type LimitedTurn = Pick<Allowance, 'role' | 'ofThread' | 'ofRole' | 'more'> & { state: ThreadState };

/**
 * Puts together what limits a role's turn, and what the thread has used of it over its life: its steps, its turns that
 * ended in a suspension or were cut off, the steps that were done again, and the children of all these. The children of the turn itself do
 * not count, for its callers neither: to take in what was paid for costs nothing.
 * @param replaced the step that the turn does again, where it does one
 * @param more what is about to be added, beside what the thread's resumptions have added
 */
export async function allowanceOf(
  { engine, state, definition }: DefinedThread,
  role: string,
  { replaced, more = {} }: { replaced?: CommitOf<'step'> | undefined; more?: MoreLimits } = {},
): Promise<Allowance> {
  const { repository } = engine;
  const turn = limitTurn({ engine, state, definition }, role, more);
  let again: Usage | null = null;
  if (replaced !== undefined) {
    for (const { node } of [replaced, ...(await readReplaced(repository, replaced))]) {
      again = addUsage(again, node.usage);
      for (const [, used] of childUsageOf(node)) again = addUsage(again, used);
    }
    const left = await findCalledNow(repository, { ...state, last: replaced }, state.id);
    for (const used of Object.values((await usageOfLeft(repository, state, left)) ?? {})) again = addUsage(again, used);
  }
  return addUp(repository, [turn, ...(await findCalling(engine, state))], again);
}

function limitTurn({ engine, state, definition }: DefinedThread, role: string, more: MoreLimits = {}): LimitedTurn {
  const ofThread = combineLimits(engine.config.limits, definition.limits, state.start.node.limits);
  return {
    state,
    role,
    ofThread,
    ofRole: findRole(definition, role)?.limits ?? {},
    more: sumOf(state.tally.more, more),
  };
}

/**
 * Adds up what a turn and those that called it may use and have used.
 * @param again what the turn does again, by the role that did it before
 * @param below the child of which the turn hears, and what that has used
 */
async function addUp(
  repository: Repository,
  [{ state, ...limits }, ...above]: [LimitedTurn, ...LimitedTurn[]],
  again: Usage | null,
  below?: UsedChild,
): Promise<Allowance> {
  const { id, tally } = state;
  const ofTurn = tally.roles.get(limits.role) ?? NO_TURN;
  const open = await openUsage(repository, id);
  const add = (...all: (Usage | null | undefined)[]): Usage | null => all.reduce<Usage | null>(addUsage, null);
  let usage = add(tally.usage, tally.replaced, again, ...open.values());
  let usageOfRole = add(ofTurn.usage, ofTurn.replaced, again, open.get(limits.role));
  let isShared = false;
  // Only budgets look at children.
  if ([limits, ...above].some(hasBudget)) {
    const ofChildren = await usageOfChildren(repository, state, below);
    for (const used of ofChildren.values()) {
      usage = addUsage(usage, used);
      isShared = true;
    }
    usageOfRole = addUsage(usageOfRole, ofChildren.get(limits.role));
  }
  const [next, ...others] = above;
  return {
    ...limits,
    usedByThread: { steps: tally.steps, usage },
    usedByRole: { steps: ofTurn.visits, usage: usageOfRole },
    isShared,
    caller: next && {
      thread: next.state.id,
      allowance: await addUp(repository, [next, ...others], null, { id, usage }),
    },
  };
}

function hasBudget({ ofThread, ofRole }: Pick<LimitedTurn, 'ofThread' | 'ofRole'>): boolean {
  return budgets.some((name) => ofThread[name] !== undefined || ofRole[name] !== undefined);
}

/** Catches up with the threads whose usage counts to a budget of a thread's callers, where other machines may run them. */
export async function catchUpUnderBudget(
  engine: Deciding & Pick<EngineContext, 'catchUp'>,
  state: ThreadState,
): Promise<void> {
  const { catchUp, repository } = engine;
  if (catchUp === undefined) return;
  const seen = new Set<ThreadId>();
  // What is brought can have called more.
  for (let before = -1; seen.size > before;) {
    before = seen.size;
    const above = await findCalling(engine, state);
    const top = above.findLast(hasBudget);
    if (top === undefined) return;
    const family = [...(await findOpenFamily(repository, top.state)).keys()];
    if (family.some((id) => !seen.has(id))) await catchUp(family);
    for (const id of family) seen.add(id);
  }
}

/** The turns that called a thread, the nearest first, up to one that none did, that is not here, or that has gone on without it. */
async function findCalling(engine: Deciding, { id, start: { node } }: ThreadState): Promise<LimitedTurn[]> {
  const { call, parentRole: role, parentState } = node;
  // A fork has no caller.
  if (call === undefined || role === null || id !== node.id) return [];
  const { repository } = engine;
  const caller = parseThreadId(call.thread);
  // A turn that does a step again calls under an id that no thread has before it is stored.
  const poking = engine.poking?.as === caller ? engine.poking.state : undefined;
  const pointer = poking ? undefined : await findThread(repository, caller);
  const found = pointer && (await readState(repository, pointer.id, pointer.head).catch(nothingForDataError));
  const state = poking ?? found;
  if (!state || stateHash(state) !== parentState) return [];
  // A thread can be made to name itself as its caller.
  if (state.start.node.depth >= node.depth) return [];
  const definition = await definitionOf(engine, state);
  const turn = limitTurn({ engine, state: { ...state, id: caller }, definition }, role);
  return [turn, ...(await findCalling(engine, state))];
}

/**
 * Finds the limit at which a thread waits; `undefined` where it waits for something else, or the limit was raised since.
 * @param more what is about to be added
 */
export async function findLimitWaitedAt(
  engine: Deciding,
  state: ThreadState,
  more: MoreLimits = {},
): Promise<LimitReached | undefined> {
  const { head } = state;
  if (head.kind !== 'suspend' || head.node.cause !== 'limit') return undefined;
  const definition = await definitionOf(engine, state);
  const { role } = head.node;
  const reached = findLimitReached(await allowanceOf({ engine, state, definition }, role, { more }));
  if (reached !== undefined || findBlock(definition, role) === undefined) return reached;
  return findBudgetSpent({ engine, state, definition }, role, more);
}

/**
 * Finds the budget that keeps a turn from calling more threads: what it has called already counts.
 * @param more what is about to be added
 */
export async function findBudgetSpent(
  thread: DefinedThread,
  role: string,
  more: MoreLimits = {},
): Promise<LimitReached | undefined> {
  const { engine, state } = thread;
  const above = await findCalling(engine, state);
  const turn = limitTurn(thread, role, more);
  if (![turn, ...above].some(hasBudget)) return undefined;
  // As for a child that has used nothing yet. The caller's id stands in for it, because no child can have that.
  return findLimitReached(await addUp(engine.repository, [turn, ...above], null, { id: state.id, usage: null }));
}

type Caller = Pick<ThreadState, 'id' | 'start' | 'last' | 'tally'>;

type UsedChild = { id: ThreadId; usage: Usage | null };

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

type StartedThread = { readonly start: { readonly id: ObjectId } };

/** The threads that are remembered. A process works on few at a time. */
const MAX_THREADS = 8;

/** What a process has read of a thread, so that its next command does not read it again. Commits never change. */
export class ThreadMemory<T> {
  readonly #known = new WeakMap<Repository, Map<ObjectId, T>>();

  get(repository: Repository, { start }: StartedThread): T | undefined {
    return this.#known.get(repository)?.get(start.id);
  }

  set(repository: Repository, { start }: StartedThread, value: T): void {
    const known = this.#known.get(repository) ?? new Map<ObjectId, T>();
    this.#known.set(repository, known);
    known.delete(start.id);
    known.set(start.id, value);
    for (const oldest of known.keys()) if (known.size > MAX_THREADS) known.delete(oldest);
  }
}

const memory = new ThreadMemory<Known>();

/**
 * Adds up what the child threads of a thread have used, with the children of these, by the roles that called them: its head says it of
 * those that its steps took in or left. Reads each head of the others once in a process.
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
async function findOpenFamily(
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
