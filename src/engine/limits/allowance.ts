import type { Repository } from '../../git/repository.ts';
import { addUsage, type MoreLimits, type Usage } from '../../schema/built-in/schema-parts.ts';
import { nothingForDataError } from '../../thread/thread-errors.ts';
import { findCalledNow } from '../../thread/find-children.ts';
import { findThread } from '../../thread/find-thread.ts';
import {
  childUsageOf,
  type CommitOf,
  NO_TURN,
  readReplaced,
  readState,
  stateHash,
  sumOf,
  type ThreadState,
} from '../../thread/thread-state.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { findBlock, findRole, type WorkflowDefinition } from '../../workflow/definition.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { EngineContext } from '../engine-context.ts';
import { budgets, combineLimits, findLimitReached, type Allowance, type LimitReached } from './limits.ts';
import { openUsage } from '../recovery/open-turns.ts';
import { findOpenFamily, usageOfChildren, usageOfLeft, type UsedChild } from './usage-of-children.ts';

/** A thread whose definition was read. */
type DefinedThread = { engine: EngineContext; state: ThreadState; definition: WorkflowDefinition };

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
export async function catchUpUnderBudget(engine: EngineContext, state: ThreadState): Promise<void> {
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
async function findCalling(engine: EngineContext, { id, start: { node } }: ThreadState): Promise<LimitedTurn[]> {
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
  engine: EngineContext,
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
