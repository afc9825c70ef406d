// The room moderator: who is next. The rules of a workflow and what the thread has said come in; a role, a block, the
// end or a fault goes out. It reads no repository and no clock, so the same history gives the same decision on every
// machine, and a fetched thread can be verified by deciding again. `list-branches.ts` and `judge-join.ts` do the same
// for the branches of a block; `check-reply.ts` runs the checks of a role. A rule may be wrong or take too long: that
// is a decision of its own kind, no exception.

import { UwfError } from '../errors.ts';
import { holds } from '../expression/evaluation/evaluate.ts';
import type { Scope } from '../expression/evaluation/scope.ts';
import type { JsonObject } from '../json.ts';
import { seenByExpression } from '../expression/analysis/compile-expression.ts';
import { renderTemplate, seenByTemplate } from '../expression/template/template.ts';
import type { StepView } from '../thread/step-view.ts';
import type { Rule } from '../workflow/definition.ts';
import { END, RESUME, START } from '../workflow/definition.ts';
import { branchesInMeta } from '../schema/built-in/thread-step.ts';
import { lastRoleOf, stepsSeenBy, type Decision, type DecisionContext, type SeenSteps } from './decision.ts';
import type { RulePart } from './moderator-errors.ts';
import { NoRuleMatches, RuleFailed } from './moderator-errors.ts';

/** How the conditions of rules are evaluated. */
export type DecideOptions = {
  /** Wall time of each condition; default 1,000. */
  timeoutMs?: number;
};

/**
 * Decides which role is next, by the first rule whose `from` is the last role and whose `when` holds.
 *
 * A pure function: the same rules and context give the same decision, at any time on any machine. `__start__` stands for the
 * last role before the first step, `__resume__` when an ended thread is resumed. What is wrong with the rules is a decision
 * of the kind `failed`, and one that exceeds its limits of time or memory `undecided`; neither is an exception.
 * @throws {UwfError} `evaluator-unavailable` when a condition needs the child and the machine does not give it; the rules are not at fault
 */
export async function decide(
  rules: readonly Rule[],
  context: DecisionContext,
  options?: DecideOptions,
): Promise<Decision> {
  return decideAmong(rules, undefined, context, options);
}

/**
 * Decides which role is next if a limit keeps the role that {@link decide} chose from running, by the rules with `on: limit`.
 * @returns `undefined` where none of them holds
 * @throws {UwfError} `evaluator-unavailable` as `decide` does
 */
export async function decideAtLimit(rules: readonly Rule[], context: DecisionContext): Promise<Decision | undefined> {
  const decision = await decideAmong(rules, 'limit', context);
  return decision.kind === 'failed' && decision.rule === undefined ? undefined : decision;
}

async function decideAmong(
  rules: readonly Rule[],
  on: Rule['on'],
  context: DecisionContext,
  options: DecideOptions = {},
): Promise<Decision> {
  const from = context.isResumed === true ? RESUME : (lastRoleOf(context.steps) ?? START);
  for (const [index, rule] of rules.entries()) {
    if (rule.from !== from || rule.on !== on) continue;
    try {
      if (await ruleHolds(index, rule, context, options)) return await outcomeOf(index, rule, context);
    } catch (error) {
      if (error instanceof RuleFailed) return { kind: error.isUndecided ? 'undecided' : 'failed', rule: index, error };
      throw error;
    }
  }
  return { kind: 'failed', rule: undefined, error: new NoRuleMatches(from, rules) };
}

async function ruleHolds(
  index: number,
  rule: Rule,
  context: DecisionContext,
  options: DecideOptions,
): Promise<boolean> {
  const { when } = rule;
  if (when === null) return true;
  return blaming(index, rule, 'when', when, async () => {
    const seen = await stepsSeenBy(context.steps, await seenByExpression(when));
    return holds(when, ruleScope(context, seen), options);
  });
}

async function outcomeOf(index: number, rule: Rule, context: DecisionContext): Promise<Decision> {
  const prompt = await render(index, rule, 'prompt', context);
  if (rule.to === END) return { kind: 'end', rule: index, returnCode: rule.returnCode ?? 0, summary: prompt };
  return { kind: 'role', rule: index, role: rule.to, prompt, location: await render(index, rule, 'location', context) };
}

async function render(
  index: number,
  rule: Rule,
  part: 'prompt' | 'location',
  context: DecisionContext,
): Promise<string | undefined> {
  const template = rule[part];
  if (template === undefined) return undefined;
  const text = await blaming(index, rule, part, template, async () => {
    const seen = await stepsSeenBy(context.steps, seenByTemplate(template));
    return renderTemplate(template, templateScope(context, seen.steps));
  });
  if (text.trim() === '') throw new RuleFailed(index, rule, part, template, 'it renders to nothing');
  return text;
}

/** Evaluates a part of a rule. An error that is the fault of the rule becomes one that names the rule and the part. */
async function blaming<T>(
  index: number,
  rule: Rule,
  part: RulePart,
  expression: string,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof UwfError && error.kind === 'data')
      throw new RuleFailed(index, rule, part, expression, error.message, error);
    throw error;
  }
}

/**
 * The thread as expressions and templates see it. Shares the values of the context, so neither may be changed afterwards.
 *
 * `branches` is there after the step of a block.
 */
function bindingsOf({ start, threadId }: DecisionContext, steps: readonly StepView[]): JsonObject {
  const branches = branchesInMeta(steps.at(-1)?.meta);
  return { steps: [...steps], start, threadId, ...(branches && { branches }) };
}

/** The scope of a rule's `when`: the bindings, which are the input document too. */
export function ruleScope(context: DecisionContext, { steps, roles }: SeenSteps): Scope {
  const bindings = bindingsOf(context, steps);
  return { input: bindings, bindings, roles };
}

/**
 * The variables of a rule's templates: the fields of the last step's meta, `_body` (its text), and `steps`, `start`, `threadId`.
 *
 * A field of meta wins over one of the last three of the same name: what the role reported is nearer than what uwf knows. So
 * after a block `branches` are those of its meta, by their keys.
 * Before the first step there is neither meta nor `_body`.
 */
export function templateScope(context: DecisionContext, steps: readonly StepView[]): JsonObject {
  const last = steps.at(-1);
  return { ...bindingsOf(context, steps), ...last?.meta, ...(last && { _body: last.text }) };
}
