import type { SourceRule } from '../notation/read-rules.ts';
import { askedStatuses as readCondition, type AskedStatuses } from '../notation/status-condition.ts';

/** The statuses a rule's condition names; `undefined` where it does not go by the status alone. */
export function askedStatuses({ rule, status }: SourceRule): AskedStatuses | undefined {
  if (status !== undefined) return { statuses: [status], isNegated: false };
  return rule.when === null ? undefined : readCondition(rule.when, rule.from);
}

/**
 * The statuses, of all that a role can report, with which a rule holds; `undefined` where it does not go by them alone.
 * @param all what the role's schema lists
 */
export function handledStatuses(rule: SourceRule, all: readonly string[]): readonly string[] | undefined {
  if (rule.status !== undefined && rule.condition !== undefined) return undefined;
  const asked = askedStatuses(rule);
  if (asked === undefined || !asked.isNegated) return asked?.statuses;
  return all.filter((status) => !asked.statuses.includes(status));
}
