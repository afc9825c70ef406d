import { UwfError } from '../errors.ts';
import { exceedsLimit } from '../expression/expression-errors.ts';
import type { Rule } from '../workflow/definition.ts';

/** The part of a rule that could not be evaluated. */
export type RulePart = 'when' | 'prompt' | 'location';

/** A rule whose condition or template has no result. The definition is at fault. */
export class RuleFailed extends UwfError {
  /** True if the condition or template was ended at a limit of time or memory: then it may have been the machine. */
  readonly isUndecided: boolean;

  constructor(index: number, rule: Rule, part: RulePart, expression: string, reason: string, cause?: unknown) {
    const hint = cause instanceof UwfError ? cause.hint : undefined;
    const isUndecided = cause instanceof UwfError && exceedsLimit(cause);
    const what = isUndecided ? 'exceeds its limits' : 'does not work';
    super(`${nameOf(index, rule)} has a ${part} that ${what}: ${reason}`, {
      code: isUndecided ? 'rule-undecided' : 'rule-failed',
      kind: 'data',
      hint,
      cause,
      facts: { rule: index, from: rule.from, to: rule.to, part, expression },
    });
    this.isUndecided = isUndecided;
  }
}

/** No rule decides what comes after `from`. The definition is at fault. */
export class NoRuleMatches extends UwfError {
  constructor(from: string, rules: readonly Rule[]) {
    const tried = rules.flatMap((rule, index) => (rule.from === from ? [index] : []));
    const list = rules.flatMap((rule, index) =>
      rule.from === from ? [`  ${nameOf(index, rule)} when ${rule.when ?? 'always'}`] : [],
    );
    const what = tried.length === 0 ? `there is no rule from '${from}'` : `no rule from '${from}' holds; tried were:`;
    super([what, ...list].join('\n'), {
      code: 'no-rule-matches',
      kind: 'data',
      hint: `add a rule from '${from}' with 'when: null' as the last of them`,
      facts: { from, tried },
    });
  }
}

/** A role's check that has no result. The definition is at fault, not the reply. */
export class CheckFailed extends UwfError {
  constructor(check: number, expression: string, cause: UwfError) {
    super(`check ${check + 1} of the role does not work: ${cause.message}`, {
      code: 'check-failed',
      kind: 'data',
      hint: cause.hint,
      cause,
      facts: { check, expression },
    });
  }
}

/** An expression or a prompt of a block that cannot be used. The definition is at fault, or what its roles reported. */
export class BlockFailed extends UwfError {
  constructor(block: string, part: string, expression: string, reason: string, cause?: unknown) {
    const hint = cause instanceof UwfError ? cause.hint : undefined;
    super(`'${part}' of block '${block}' does not work: ${reason}`, {
      code: 'block-failed',
      kind: 'data',
      hint,
      cause,
      facts: { block, part, expression },
    });
  }
}

// Messages count rules from one.
function nameOf(index: number, rule: Rule): string {
  return `rule ${index + 1} (${rule.from} -> ${rule.to})`;
}
