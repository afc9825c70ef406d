import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { countedLimits, type CountedLimit, type MoreLimits } from '../../schema/built-in/thread-resume.ts';
import type { Limits } from '../../schema/built-in/limits.ts';
import { addUsage, type Usage } from '../../schema/built-in/usage.ts';
import { NO_TURN, sumOf, usageReplacedBy } from '../../thread/read/tally.ts';
import { nothingForDataError } from '../../thread/fault-of.ts';
import { findThread } from '../../thread/find/find-thread.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { readState, stateHash, type CommitOf, type ThreadState } from '../../thread/read/thread-state.ts';
import { findRole, type WorkflowDefinition } from '../../workflow/definition.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { EngineContext } from '../engine-context.ts';
import { usageOfChildren, usageOfStep, type UsedChild } from './usage-of-children.ts';

/** Default limits. */
export const DEFAULT_LIMITS: Readonly<Required<Pick<Limits, 'maxSteps' | 'maxDepth'>>> = {
  maxSteps: 10_000,
  maxDepth: 8,
};

/** Combines sets of limits: the smallest value of each limit holds. */
export function combineLimits(...sets: readonly (Limits | undefined)[]): Limits {
  const combined: Record<string, number> = {};
  for (const limits of sets) {
    for (const [name, value] of Object.entries(limits ?? {})) {
      combined[name] = Math.min(value, combined[name] ?? Number.POSITIVE_INFINITY);
    }
  }
  return combined;
}

/** What limits count: steps, and the usage of all turns, of those too that ended in no step or were done again. */
export type Used = { steps: number; usage: Usage | null };

export const NOTHING_USED: Used = { steps: 0, usage: null };

/** What the limits of a role's turn are counted by. */
export type Allowance = {
  role: string;
  /** What the configuration, the workflow and the thread allow; counts all turns. */
  ofThread: Limits;
  /** What the role's definition allows; counts the role's own turns. */
  ofRole: Limits;
  /** What people have added, over the thread's life; holds for both. */
  more: MoreLimits;
  /** What all turns of the thread's life, and those of the role, have used. */
  usedByThread: Used;
  usedByRole: Used;
  /** Whether child threads have used a part of it. */
  isShared?: boolean;
  /** That of the turn that called the thread, whose budgets hold for it, too; absent where none did. */
  caller?: { thread: ThreadId; allowance: Allowance } | undefined;
};

/** A limit that keeps a role from running. */
export type LimitReached = {
  name: CountedLimit;
  /** The limit with what people have added. */
  limit: number;
  used: number;
  /** What to add: as much as the limit first allowed, and what was used beyond it. */
  missing: number;
  /** `the limit of 4 visits to coder is reached`. */
  text: string;
  /** The caller that has this limit; absent where the thread itself has it. */
  caller?: ThreadId | undefined;
};

/** Finds the first limit that keeps a role from running; `undefined` if none does. */
export function findLimitReached(allowance: Allowance): LimitReached | undefined {
  return firstOf(allowance, (used, limit) => used >= limit, 'reached');
}

/**
 * Returns a message that names the budget a running turn has exceeded, or `undefined`.
 * @param usage what the turn has used so far, in all of its tries
 */
export function findBudgetExceeded(allowance: Allowance, usage: Usage): string | undefined {
  return firstOf(withTurn(allowance, usage), (used, limit) => used > limit, 'exceeded', budgets)?.text;
}

/** An allowance of which a running turn has used so much, in all of its tries. */
export function withTurn(allowance: Allowance, usage: Usage | null): Allowance {
  const add = (used: Used): Used => ({ ...used, usage: addUsage(used.usage, usage) });
  const { caller } = allowance;
  return {
    ...allowance,
    usedByThread: add(allowance.usedByThread),
    usedByRole: add(allowance.usedByRole),
    caller: caller && { ...caller, allowance: withTurn(caller.allowance, usage) },
  };
}

/** An option of `uwf thread resume` that raises a limit. */
export type LimitOption = 'steps' | 'visits' | 'turns' | 'tokens' | 'cost';

/** The option for each limit, and what it counts. */
const counted: Record<CountedLimit, { option: LimitOption; unit: string; of: (used: Used) => number }> = {
  maxVisits: { option: 'visits', unit: 'visits', of: ({ steps }) => steps },
  maxSteps: { option: 'steps', unit: 'steps', of: ({ steps }) => steps },
  maxTurns: { option: 'turns', unit: 'turns', of: ({ usage }) => usage?.turns ?? 0 },
  maxTokens: {
    option: 'tokens',
    unit: 'tokens',
    of: ({ usage }) => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0),
  },
  maxCostUsd: { option: 'cost', unit: 'US dollars', of: ({ usage }) => usage?.costUsd ?? 0 },
};

/** The limits that people raise when they resume a thread, with the option for each. */
export const limitOptions: readonly (readonly [CountedLimit, LimitOption])[] = countedLimits.map((name) => [
  name,
  counted[name].option,
]);

/** The limits that count what the children of a thread use, too. */
const budgets = ['maxTurns', 'maxTokens', 'maxCostUsd'] as const satisfies CountedLimit[];
const names: readonly CountedLimit[] = ['maxVisits', 'maxSteps', ...budgets];

function firstOf(
  allowance: Allowance,
  isOver: (used: number, limit: number) => boolean,
  verb: string,
  among: readonly CountedLimit[] = names,
  ofCaller?: ThreadId,
): LimitReached | undefined {
  const { role, ofThread, ofRole, more, usedByThread, usedByRole, caller } = allowance;
  // Visits are counted for the role, also where the workflow or the thread limits them.
  const { maxVisits, ...others } = { ...DEFAULT_LIMITS, ...ofThread };
  const sets: { limits: Limits; whose: string; usedBy: Used }[] = [
    {
      limits: combineLimits(ofRole, maxVisits === undefined ? {} : { maxVisits }),
      whose: ` of ${role}`,
      usedBy: usedByRole,
    },
    { limits: others, whose: '', usedBy: usedByThread },
  ];
  for (const name of among) {
    for (const { limits, whose, usedBy } of sets) {
      const allowed = limits[name];
      if (allowed === undefined) continue;
      const limit = rounded(allowed + (more[name] ?? 0));
      const used = rounded(counted[name].of(usedBy));
      if (!isOver(used, limit)) continue;
      const what = name === 'maxVisits' ? `visits to ${role}` : `${counted[name].unit}${whose}`;
      const where = ofCaller === undefined ? '' : ` in thread ${ofCaller}, which called it,`;
      const missing = roundUp(name, allowed + Math.max(0, used - limit));
      const isShared = allowance.isShared === true && budgets.some((each) => each === name);
      const text = `the limit of ${limit} ${what}${where} is ${verb}${isShared ? ', child threads included' : ''}`;
      return { name, limit, used, missing, text, caller: ofCaller };
    }
  }
  // What people have allowed a child is theirs to spend, whatever its callers may.
  const above = caller && { ...caller.allowance, more: sumOf(caller.allowance.more, more) };
  return above && firstOf(above, isOver, verb, budgets, caller.thread);
}

/** Without what adding up fractions leaves behind. */
function rounded(amount: number): number {
  return Number(amount.toFixed(9));
}

/** To whole numbers, and to cents. */
function roundUp(name: CountedLimit, amount: number): number {
  return name === 'maxCostUsd' ? Math.ceil(amount * 100) / 100 : Math.ceil(amount);
}

/** A thread whose definition was read. */
type DefinedThread = { engine: EngineContext; state: ThreadState; definition: WorkflowDefinition };

/** A turn of a role, as far as its limits count it. */
type LimitedTurn = Pick<Allowance, 'role' | 'ofThread' | 'ofRole' | 'more'> & { state: ThreadState };

/**
 * Puts together what limits a role's turn, and what the thread has used of it over its life: its steps, its turns that
 * ended in a suspension, the steps that were done again, and the children of all these. The children of the turn itself do
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
    again = addUsage(replaced.node.usage, await usageReplacedBy(repository, replaced));
    again = addUsage(again, await usageOfStep(repository, state, replaced));
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
  let usage = addUsage(addUsage(tally.usage, tally.replaced), again);
  let usageOfRole = addUsage(addUsage(ofTurn.usage, ofTurn.replaced), again);
  let isShared = false;
  // Only budgets look at children.
  if ([limits, ...above].some(hasBudget)) {
    const ofChildren = await usageOfChildren(repository, state, below);
    for (const used of ofChildren.values()) {
      usage = addUsage(usage, used);
      isShared ||= used !== null;
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

/** The turns that called a thread, the nearest first, up to one that none did, that is not here, or that has gone on without it. */
async function findCalling(engine: EngineContext, { id, start: { node } }: ThreadState): Promise<LimitedTurn[]> {
  const { call, parentRole: role, parentState } = node;
  // A fork is nobody's child.
  if (call === undefined || role === null || id !== node.id) return [];
  const { repository } = engine;
  const pointer = await findThread(repository, parseThreadId(call.thread));
  const state = pointer && (await readState(repository, pointer.id, pointer.head).catch(nothingForDataError));
  if (!state || stateHash(state) !== parentState) return [];
  // A thread can be made to name itself as its caller.
  if (state.start.node.depth >= node.depth) return [];
  const turn = limitTurn({ engine, state, definition: await definitionOf(engine, state) }, role);
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
  return findLimitReached(await allowanceOf({ engine, state, definition }, head.node.role, { more }));
}

/** A thread waits at a limit, which only a person's word raises. */
export class WaitsAtLimit extends UwfError {
  constructor(thread: ThreadId, { name, used, missing, text, caller = thread }: LimitReached) {
    super(`thread ${thread} waits at a limit: ${text} (${used} used)`, {
      code: 'waits-at-limit',
      kind: 'usage',
      hint: `run 'uwf thread resume ${caller} --${counted[name].option} ${missing}' to let it use ${missing} more`,
      facts: { thread, limit: name, used },
    });
  }
}
