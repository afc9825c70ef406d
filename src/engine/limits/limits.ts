import { UwfError } from '../../errors.ts';
import {
  addUsage,
  type CountedLimit,
  countedLimits,
  type Limits,
  type MoreLimits,
  type ThreadLimits,
  type Usage,
} from '../../schema/built-in/schema-parts.ts';
import { sumOf } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/** Default limits. */
export const DEFAULT_LIMITS: Readonly<Required<Pick<Limits, 'maxSteps' | 'maxDepth'>>> = {
  maxSteps: 10_000,
  maxDepth: 8,
};

/** Combines sets of limits: the smallest value of each limit holds, and `refuse` over `warn`. */
export function combineLimits(...sets: readonly (ThreadLimits | undefined)[]): ThreadLimits {
  const combined: Record<string, number> = {};
  for (const { unknownUsage: _word, ...limits } of sets.map((set) => set ?? {})) {
    for (const [name, value] of Object.entries(limits)) {
      combined[name] = Math.min(value, combined[name] ?? Number.POSITIVE_INFINITY);
    }
  }
  const isRefused = sets.some((set) => set?.unknownUsage === 'refuse');
  return { ...combined, ...(isRefused && { unknownUsage: 'refuse' }) };
}

/** What limits count: steps, and the usage of all turns, of those too that ended in no step or were done again. */
export type Used = { steps: number; usage: Usage | null };

export const NOTHING_USED: Used = { steps: 0, usage: null };

/** What the limits of a role's turn are counted by. */
export type Allowance = {
  role: string;
  /** What the configuration, the workflow and the thread allow; counts all turns. */
  ofThread: ThreadLimits;
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
export const budgets: readonly CountedLimit[] = ['maxTurns', 'maxTokens', 'maxCostUsd'];
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
      const isShared = allowance.isShared === true && budgets.includes(name);
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

/** Returns the command that raises a limit at which a thread waits, for a hint. */
export function hintToRaise(thread: ThreadId, { name, missing, caller = thread }: LimitReached): string {
  return `run 'uwf thread resume ${caller} --${counted[name].option} ${missing}' to let it use ${missing} more`;
}

/** A thread waits at a limit, which only a person's word raises. */
export class WaitsAtLimit extends UwfError {
  constructor(thread: ThreadId, reached: LimitReached) {
    const { name, used, text } = reached;
    super(`thread ${thread} waits at a limit: ${text} (${used} used)`, {
      code: 'waits-at-limit',
      kind: 'usage',
      hint: hintToRaise(thread, reached),
      facts: { thread, limit: name, used },
    });
  }
}
