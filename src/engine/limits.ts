import type { Limits } from '../schema/built-in/limits.ts';
import type { ThreadStep } from '../schema/built-in/thread-step.ts';
import type { Usage } from '../schema/built-in/usage.ts';

/** What holds where nobody says anything else. */
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

/** A step as limits count it. */
export type CountedStep = Pick<ThreadStep, 'role' | 'usage'>;

/**
 * Says which limit keeps a role from running, in words; `undefined` if none does.
 *
 * A person's resumption buys as much again: what counts are the steps since.
 * @param ofThread what the configuration, the workflow and the thread allow; counts all steps
 * @param ofRole what the role's definition allows; counts the role's own
 */
export function findLimitReached(
  ofThread: Limits,
  ofRole: Limits,
  role: string,
  stepsSinceResume: readonly CountedStep[],
): string | undefined {
  const own = stepsSinceResume.filter((step) => step.role === role);
  const maxVisits = Math.min(ofThread.maxVisits ?? Infinity, ofRole.maxVisits ?? Infinity);
  if (own.length >= maxVisits) return `the limit of ${maxVisits} visits to ${role} is reached`;
  return (
    findSumReached({ ...DEFAULT_LIMITS, ...ofThread }, '', stepsSinceResume) ??
    findSumReached(ofRole, ` of ${role}`, own)
  );
}

/**
 * Says which budget a turn has gone beyond while it still runs, in words; `undefined` if none.
 * @param usage what the turn has used so far
 */
export function findBudgetExceeded(
  ofThread: Limits,
  ofRole: Limits,
  role: string,
  stepsSinceResume: readonly CountedStep[],
  usage: Usage,
): string | undefined {
  const isBeyond = (limits: Limits, whose: string, steps: readonly CountedStep[]): string | undefined =>
    describeFirst(sumsOf(limits, [...steps, { role, usage }]), whose, (used, limit) => used > limit, 'exceeded');
  const own = stepsSinceResume.filter((step) => step.role === role);
  return isBeyond(ofThread, '', stepsSinceResume) ?? isBeyond(ofRole, ` of ${role}`, own);
}

function findSumReached(limits: Limits, whose: string, steps: readonly CountedStep[]): string | undefined {
  const sums: Sum[] = [[limits.maxSteps, steps.length, 'steps'], ...sumsOf(limits, steps)];
  return describeFirst(sums, whose, (used, limit) => used >= limit, 'reached');
}

type Sum = [limit: number | undefined, used: number, unit: string];

function sumsOf(limits: Limits, steps: readonly CountedStep[]): Sum[] {
  const sum = (count: (usage: Usage) => number): number =>
    steps.reduce((total, { usage }) => total + (usage ? count(usage) : 0), 0);
  return [
    [limits.maxTurns, sum((usage) => usage.turns), 'turns'],
    [limits.maxTokens, sum((usage) => usage.inputTokens + usage.outputTokens), 'tokens'],
    [limits.maxCostUsd, sum((usage) => usage.costUsd ?? 0), 'US dollars'],
  ];
}

function describeFirst(
  sums: readonly Sum[],
  whose: string,
  isOver: (used: number, limit: number) => boolean,
  verb: string,
): string | undefined {
  for (const [limit, used, unit] of sums) {
    if (limit !== undefined && isOver(used, limit)) return `the limit of ${limit} ${unit}${whose} is ${verb}`;
  }
  return undefined;
}
