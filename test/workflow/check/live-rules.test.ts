import { expect, test } from 'vitest';
import { isUnconditional, splitRules } from '../../../src/workflow/check/routing.ts';
import type { SourceRule } from '../../../src/workflow/notation/reduce-workflow.ts';

const place = { path: [] };

/** Makes rules of few roles, statuses and conditions, so that many of them ask for the same thing. */
function someRules(seed: number, count: number): SourceRule[] {
  let state = seed;
  const pick = <T>(...choices: readonly T[]): T | undefined => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return choices[(state >>> 16) % choices.length];
  };
  return Array.from({ length: count }, (_, index): SourceRule => {
    const from = pick('a', 'b') ?? '';
    const on = pick(undefined, undefined, 'limit' as const);
    const when = pick(null, 'true', ' true ', '', '$x', ' $x', '$y', '$z = 1', '$z = 2') ?? null;
    const status = pick(undefined, undefined, 'done', 'late');
    const condition = pick(undefined, '$x', '$y');
    return {
      rule: { from, to: 'c', when, ...(on && { on }) },
      name: `rule ${index}`,
      whole: place,
      from: place,
      to: place,
      when: place,
      ...(status !== undefined && { status }),
      ...(condition !== undefined && { condition }),
    };
  });
}

/** What splitting rules means: each rule is compared with every live one before it. */
function splitByComparing(rules: readonly SourceRule[]): ReturnType<typeof splitRules> {
  const live: SourceRule[] = [];
  const shadowed: ReturnType<typeof splitRules>['shadowed'] = [];
  for (const rule of rules) {
    const by = live.find(
      (earlier) =>
        earlier.rule.from === rule.rule.from &&
        earlier.rule.on === rule.rule.on &&
        (isUnconditional(earlier) ||
          (rule.status !== undefined && earlier.status === rule.status && earlier.condition === undefined) ||
          earlier.rule.when?.trim() === rule.rule.when?.trim()),
    );
    if (by === undefined) live.push(rule);
    else shadowed.push({ rule, by });
  }
  return { live, shadowed };
}

test('rules that can never decide, and the rule before each of them, are those that comparing all pairs finds', () => {
  let shadowed = 0;
  for (let seed = 1; seed <= 400; seed += 1) {
    const rules = someRules(seed, 1 + (seed % 25));
    const split = splitRules(rules);
    expect(split).toEqual(splitByComparing(rules));
    shadowed += split.shadowed.length;
  }
  expect(shadowed).toBeGreaterThan(1000);
});
