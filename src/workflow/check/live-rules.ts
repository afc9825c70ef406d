import type { SourceRule } from '../notation/reduce-workflow.ts';
import { askedStatuses, type AskedStatuses } from '../notation/status-condition.ts';

/** A rule that is never tried, because an earlier rule of the same role always holds where it would. */
export type ShadowedRule = { rule: SourceRule; by: SourceRule };

/** Splits rules into those that can decide and those that an earlier rule always decides before. */
export function splitRules(rules: readonly SourceRule[]): { live: SourceRule[]; shadowed: ShadowedRule[] } {
  const live: SourceRule[] = [];
  const shadowed: ShadowedRule[] = [];
  const deciders = new Map<string, Decider>();
  for (const rule of rules) {
    const keys = [ALWAYS, askedStatus(rule), askedCondition(rule)].map((key) => keyOf(rule, key));
    const by = keys.flatMap((key) => deciders.get(key) ?? []).reduce(earlier, undefined);
    if (by !== undefined) {
      shadowed.push({ rule, by: by.rule });
      continue;
    }
    const whole = rule.condition === undefined ? askedStatus(rule) : undefined;
    for (const asked of [isUnconditional(rule) ? ALWAYS : undefined, whole, askedCondition(rule)]) {
      // The key is new: had a live rule the same key, this rule would be shadowed.
      if (asked !== undefined) deciders.set(keyOf(rule, asked), { rule, index: live.length });
    }
    live.push(rule);
  }
  return { live, shadowed };
}

/** A live rule that keeps later ones of its key from being asked, and its place among the live rules. */
type Decider = { rule: SourceRule; index: number };

function earlier(one: Decider | undefined, other: Decider): Decider {
  return one === undefined || other.index < one.index ? other : one;
}

/** A rule's condition in a form that can be compared: always, a status, or an expression. */
type Asked = readonly [kind: 'always' | 'status' | 'condition', text: string];

const ALWAYS: Asked = ['always', ''];

function askedStatus({ status }: SourceRule): Asked | undefined {
  return status === undefined ? undefined : ['status', status];
}

function askedCondition({ rule: { when } }: SourceRule): Asked | undefined {
  return when === null ? undefined : ['condition', when.trim()];
}

/** Rules of the same role, with the same `on` and the same condition, have the same key. */
function keyOf({ rule: { from, on } }: SourceRule, asked: Asked | undefined): string {
  return JSON.stringify([from, on ?? null, ...(asked ?? ALWAYS)]);
}

/** Tells whether a rule always holds. */
export function isUnconditional({ rule }: SourceRule): boolean {
  return rule.when === null || rule.when.trim() === 'true';
}

/** The statuses a rule's condition names; `undefined` where it does not go by the status alone. */
export function statusesOfRule({ rule, status }: SourceRule): AskedStatuses | undefined {
  if (status !== undefined) return { statuses: [status], isNegated: false };
  return rule.when === null ? undefined : askedStatuses(rule.when, rule.from);
}

/**
 * The statuses with which a rule holds; `undefined` if its condition does not depend on the status alone.
 * @param all the statuses that the role's schema lists
 */
export function handledStatuses(rule: SourceRule, all: readonly string[]): readonly string[] | undefined {
  if (rule.status !== undefined && rule.condition !== undefined) return undefined;
  const asked = statusesOfRule(rule);
  if (asked === undefined || !asked.isNegated) return asked?.statuses;
  return all.filter((status) => !asked.statuses.includes(status));
}
