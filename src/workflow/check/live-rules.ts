import type { SourceRule } from '../notation/read-rules.ts';
import { askedStatuses, type AskedStatuses } from '../notation/status-condition.ts';

/** A rule that an earlier one of the same role keeps from ever being asked. */
export type ShadowedRule = { rule: SourceRule; by: SourceRule };

/** Splits rules into those that can decide and those that an earlier rule always decides before. */
export function splitRules(rules: readonly SourceRule[]): { live: SourceRule[]; shadowed: ShadowedRule[] } {
  const live: SourceRule[] = [];
  const shadowed: ShadowedRule[] = [];
  for (const rule of rules) {
    const by = live.find(
      (earlier) =>
        earlier.rule.from === rule.rule.from &&
        earlier.rule.on === rule.rule.on &&
        (isUnconditional(earlier) ||
          isOfWholeStatus(earlier, rule) ||
          earlier.rule.when?.trim() === rule.rule.when?.trim()),
    );
    if (by === undefined) live.push(rule);
    else shadowed.push({ rule, by });
  }
  return { live, shadowed };
}

/** Whether a rule holds whatever was reported. */
export function isUnconditional({ rule }: SourceRule): boolean {
  return rule.when === null || rule.when.trim() === 'true';
}

/** Whether an edge takes all of the status that another one asks for too. */
function isOfWholeStatus(earlier: SourceRule, { status }: SourceRule): boolean {
  return status !== undefined && earlier.status === status && earlier.condition === undefined;
}

/** The statuses a rule's condition names; `undefined` where it does not go by the status alone. */
export function statusesOfRule({ rule, status }: SourceRule): AskedStatuses | undefined {
  if (status !== undefined) return { statuses: [status], isNegated: false };
  return rule.when === null ? undefined : askedStatuses(rule.when, rule.from);
}

/**
 * The statuses, of all that a role can report, with which a rule holds; `undefined` where it does not go by them alone.
 * @param all what the role's schema lists
 */
export function handledStatuses(rule: SourceRule, all: readonly string[]): readonly string[] | undefined {
  if (rule.status !== undefined && rule.condition !== undefined) return undefined;
  const asked = statusesOfRule(rule);
  if (asked === undefined || !asked.isNegated) return asked?.statuses;
  return all.filter((status) => !asked.statuses.includes(status));
}
