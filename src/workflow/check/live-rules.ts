import type { SourceRule } from '../notation/read-rules.ts';
import { askedStatuses, type AskedStatuses } from '../notation/status-condition.ts';

/** A rule that an earlier one of the same role keeps from ever being asked. */
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
      // An equal key of a live rule would have kept this rule from being live.
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

/** What a rule asks for, in the form of a key: nothing, a status, or a condition. */
type Asked = readonly [kind: 'always' | 'status' | 'condition', text: string];

const ALWAYS: Asked = ['always', ''];

function askedStatus({ status }: SourceRule): Asked | undefined {
  return status === undefined ? undefined : ['status', status];
}

function askedCondition({ rule: { when } }: SourceRule): Asked | undefined {
  return when === null ? undefined : ['condition', when.trim()];
}

/** The rules of one role, asked on the same occasion and for the same thing, have the same key. */
function keyOf({ rule: { from, on } }: SourceRule, asked: Asked | undefined): string {
  return JSON.stringify([from, on ?? null, ...(asked ?? ALWAYS)]);
}

/** Whether a rule holds whatever was reported. */
export function isUnconditional({ rule }: SourceRule): boolean {
  return rule.when === null || rule.when.trim() === 'true';
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
