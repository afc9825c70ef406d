import type { SourceRule } from '../notation/read-rules.ts';

/** A rule that an earlier one of the same role keeps from ever being asked. */
export type ShadowedRule = { rule: SourceRule; by: SourceRule };

/** Splits rules into those that can decide and those that stand behind one that always decides before them. */
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
