import type { Limits } from '../workflow/definition.ts';

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

/**
 * Says which limit keeps a role from running, in words; `undefined` if none does.
 *
 * A person's resumption buys as many steps again: what counts is what has happened since.
 */
export function findLimitReached(
  limits: Limits,
  role: string,
  rolesSinceResume: readonly string[],
): string | undefined {
  const { maxSteps = DEFAULT_LIMITS.maxSteps, maxVisits } = limits;
  if (rolesSinceResume.length >= maxSteps) return `the limit of ${maxSteps} steps is reached`;
  const visits = rolesSinceResume.filter((name) => name === role).length;
  if (maxVisits !== undefined && visits >= maxVisits) return `the limit of ${maxVisits} visits to ${role} is reached`;
  return undefined;
}
