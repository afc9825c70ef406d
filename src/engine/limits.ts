import type { CountedLimit, MoreLimits } from '../schema/built-in/thread-resume.ts';
import type { Limits } from '../schema/built-in/limits.ts';
import type { Usage } from '../schema/built-in/usage.ts';

/** Default limits. */
export const DEFAULT_LIMITS: Readonly<Required<Pick<Limits, 'maxSteps' | 'maxDepth'>>> = {
  maxSteps: 10_000,
  maxDepth: 8,
};

/** Of several sets of limits, the smallest value of each. */
export function combineLimits(...sets: readonly (Limits | undefined)[]): Limits {
  const combined: Record<string, number> = {};
  for (const limits of sets) {
    for (const [name, value] of Object.entries(limits ?? {})) {
      combined[name] = Math.min(value, combined[name] ?? Number.POSITIVE_INFINITY);
    }
  }
  return combined;
}

/** A turn as limits count it; one that ended in no step counts with what it used. */
export type CountedTurn = { role: string; usage: Usage | null; isStep: boolean };

/** What the limits of a role's turn are counted by. */
export type Allowance = {
  role: string;
  /** What the configuration, the workflow and the thread allow; counts all turns. */
  ofThread: Limits;
  /** What the role's definition allows; counts the role's own turns. */
  ofRole: Limits;
  /** What people have added, over the thread's life; holds for both. */
  more: MoreLimits;
  /** All turns of the thread's life. */
  turns: readonly CountedTurn[];
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
};

/** Finds the first limit that keeps a role from running; `undefined` if none does. */
export function findLimitReached(allowance: Allowance): LimitReached | undefined {
  return firstOf(allowance, (used, limit) => used >= limit, 'reached');
}

/**
 * Returns a message that names the budget a running turn has exceeded, or `undefined`.
 * @param usage what the turn has used so far
 */
export function findBudgetExceeded(allowance: Allowance, usage: Usage): string | undefined {
  const turns = [...allowance.turns, { role: allowance.role, usage, isStep: false }];
  return firstOf({ ...allowance, turns }, (used, limit) => used > limit, 'exceeded', budgets)?.text;
}

const units: Record<CountedLimit, string> = {
  maxVisits: 'visits',
  maxSteps: 'steps',
  maxTurns: 'turns',
  maxTokens: 'tokens',
  maxCostUsd: 'US dollars',
};
// The keys of a record of exactly these.
const names = Object.keys(units) as CountedLimit[];
const budgets: readonly CountedLimit[] = ['maxTurns', 'maxTokens', 'maxCostUsd'];

function firstOf(
  { role, ofThread, ofRole, more, turns }: Allowance,
  isOver: (used: number, limit: number) => boolean,
  verb: string,
  among: readonly CountedLimit[] = names,
): LimitReached | undefined {
  const own = turns.filter((turn) => turn.role === role);
  // Visits are counted for the role, also where the workflow or the thread limits them.
  const { maxVisits, ...others } = { ...DEFAULT_LIMITS, ...ofThread };
  const sets: { limits: Limits; whose: string; counted: readonly CountedTurn[] }[] = [
    { limits: combineLimits(ofRole, maxVisits === undefined ? {} : { maxVisits }), whose: ` of ${role}`, counted: own },
    { limits: others, whose: '', counted: turns },
  ];
  for (const name of among) {
    for (const { limits, whose, counted } of sets) {
      const allowed = limits[name];
      if (allowed === undefined) continue;
      const limit = rounded(allowed + (more[name] ?? 0));
      const used = rounded(countOf(name, counted));
      if (!isOver(used, limit)) continue;
      const what = name === 'maxVisits' ? `visits to ${role}` : `${units[name]}${whose}`;
      const missing = roundUp(name, allowed + Math.max(0, used - limit));
      return { name, limit, used, missing, text: `the limit of ${limit} ${what} is ${verb}` };
    }
  }
  return undefined;
}

function countOf(name: CountedLimit, turns: readonly CountedTurn[]): number {
  const sum = (count: (usage: Usage) => number): number =>
    turns.reduce((total, { usage }) => total + (usage ? count(usage) : 0), 0);
  switch (name) {
    case 'maxSteps':
    case 'maxVisits':
      return turns.filter(({ isStep }) => isStep).length;
    case 'maxTurns':
      return sum((usage) => usage.turns);
    case 'maxTokens':
      return sum((usage) => usage.inputTokens + usage.outputTokens);
    case 'maxCostUsd':
      return sum((usage) => usage.costUsd ?? 0);
  }
}

/** Without what adding up fractions leaves behind. */
function rounded(amount: number): number {
  return Number(amount.toFixed(9));
}

/** To whole numbers, and to cents. */
function roundUp(name: CountedLimit, amount: number): number {
  return name === 'maxCostUsd' ? Math.ceil(amount * 100) / 100 : Math.ceil(amount);
}
