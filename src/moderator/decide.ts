import { UwfError } from '../errors.ts';
import { seenByExpression } from '../expression/analysis/compile-expression.ts';
import type { StepsSeen } from '../expression/analysis/steps-seen.ts';
import { holds } from '../expression/evaluation/evaluate.ts';
import type { RoleSeen, Scope } from '../expression/evaluation/scope.ts';
import { exceedsLimit } from '../expression/expression-errors.ts';
import { renderTemplate, seenByTemplate } from '../expression/template/template.ts';
import type { JsonObject } from '../json.ts';
import { branchesInMeta } from '../schema/built-in/thread-step.ts';
import type { StepView } from '../thread/step-view.ts';
import { END, RESUME, type RoleCheck, type Rule, START, type WorkflowDefinition } from '../workflow/definition.ts';

// The room moderator: who is next. The rules of a workflow and what the thread has said come in; a role, a block, the
// end or a fault goes out. It reads no repository and no clock, so the same history gives the same decision on every
// machine, and a fetched thread can be verified by deciding again. `branches.ts` does the same for the branches of a
// block. A rule may be wrong or take too long: that is a decision of its own kind, no exception.

/** How the conditions of rules are evaluated. */
type DecideOptions = {
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

/** The thread's beginning as rules and templates see it. */
export type StartView = { prompt: string; workflow: string; depth: number; startedAtMs: number };

type SeenSteps = {
  /** Oldest first. */
  steps: readonly StepView[];
  /** Set where `steps` are not all steps. */
  roles?: ReadonlyMap<string, RoleSeen>;
};

/** The steps of a thread, of which each rule reads only what it can see. */
export type PastSteps = {
  /** The role of the newest step; absent before the first. */
  lastRole: string | undefined;
  /** Reads steps: an expression that sees no more than this comes to the same result as over all of them. */
  seenBy: (seen: StepsSeen) => Promise<SeenSteps>;
};

/** All that a decision depends on. The same context gives the same decision, on every machine. */
export type DecisionContext = {
  /** The id in the thread's start. Forks have the same one, so they decide alike. */
  threadId: string;
  start: StartView;
  /** Oldest first. */
  steps: readonly StepView[] | PastSteps;
  /** True when an ended thread is resumed: rules from `__resume__` decide, whatever the last role was. */
  isResumed?: boolean;
};

/** The moderator's decision. `rule` is the 0-based index in the stored list. */
export type Decision =
  | { kind: 'role'; rule: number; role: string; prompt: string | undefined; location: string | undefined }
  | { kind: 'end'; rule: number; returnCode: number; summary: string | undefined }
  /** The definition cannot go on: a rule's error, or (`rule: undefined`) none that matches. */
  | { kind: 'failed'; rule: number | undefined; error: UwfError }
  /** A rule was ended at a limit of time or memory. On another machine, or later, there may be a decision. */
  | { kind: 'undecided'; rule: number; error: UwfError };

/** `undefined` before the first step. */
export function lastRoleOf(steps: DecisionContext['steps']): string | undefined {
  return 'seenBy' in steps ? steps.lastRole : steps.at(-1)?.role;
}

/**
 * The role that waits while a rule is undecided: the one that the rule leads to; where that is the end, the role of the newest
 * step, and without a step the first of all by name.
 */
export function roleWhileUndecided(
  { roles, blocks, moderator }: WorkflowDefinition,
  rule: number,
  lastRole: string | undefined,
): string {
  const to = moderator[rule]?.to;
  if (to !== undefined && to !== END) return to;
  return lastRole ?? Object.keys({ ...roles, ...blocks }).toSorted()[0] ?? '';
}

/** The steps, or at least what an expression can see of them. */
export async function stepsSeenBy(steps: DecisionContext['steps'], seen: StepsSeen): Promise<SeenSteps> {
  return 'seenBy' in steps ? steps.seenBy(seen) : { steps };
}

export type CheckContext = {
  /** The reply's meta, which its schema has accepted. */
  meta: JsonObject;
  /** Oldest first, without this one. */
  steps: DecisionContext['steps'];
  start: StartView;
};

/**
 * Returns the messages of the checks that do not hold for a reply, in their order.
 *
 * Bindings are `$meta`, `$steps`, `$start` and the functions over the steps; `meta`, `steps`, `start` are the input document.
 * @throws {CheckFailed} when a check does not compile, or has no result within its limits of time and memory
 */
export async function checkReply(
  checks: readonly RoleCheck[],
  { meta, steps, start }: CheckContext,
): Promise<string[]> {
  const messages: string[] = [];
  for (const [index, { expression, message }] of checks.entries()) {
    try {
      const seen = await stepsSeenBy(steps, await seenByExpression(expression));
      const bindings = { meta, steps: [...seen.steps], start };
      const scope = { input: bindings, bindings, roles: seen.roles };
      if (!(await holds(expression, scope))) messages.push(message);
    } catch (error) {
      if (error instanceof UwfError && error.kind === 'data') throw new CheckFailed(index, expression, error);
      throw error;
    }
  }
  return messages;
}

type RulePart = 'when' | 'prompt' | 'location';

/** A rule whose condition or template has no result. The definition is at fault. */
class RuleFailed extends UwfError {
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
class NoRuleMatches extends UwfError {
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
