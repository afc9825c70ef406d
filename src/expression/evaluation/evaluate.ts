// The room expression: conditions in JSONata and prompts in Liquid. A text and the values of a thread come in, a value
// or a text goes out. `analysis` reads expressions without running them, for the checks of workflows; `evaluation`
// runs JSONata, in a process of its own where it may not end; `template` renders Liquid. The texts are those of
// whoever wrote the workflow, so every run has limits of time, memory and depth: exceeding one is an error of the
// expression, and a machine that cannot start the process is another.

import { isJsonObject, type JsonValue } from '../../json.ts';
import { plainComparison, type PlainComparison } from '../analysis/plain-comparison.ts';
import { compileExpression } from '../analysis/compile-expression.ts';
import { assertHarmless, evaluateHere, type EvaluationTask } from './evaluate-here.ts';
import { isMark, stepFunctions, type Scope } from './scope.ts';

/** How an expression is evaluated; all have defaults that hold for a rule. */
export type EvaluateOptions = {
  /** Default 1,000. The call ends within this and half a second, apart from starting the child. */
  timeoutMs?: number;
  /** Allows functions such as `$now`; for a person's own query, never for what is replayed. */
  mayVary?: boolean;
};

const DEFAULT_TIMEOUT_MS = 1000;

/**
 * Evaluates an expression within limits: in this process if it provably cannot block it, else in a child that can be killed.
 *
 * The result is the same in both. The scope is not changed.
 * @returns plain JSON, or `undefined` if JSONata has no result
 * @throws {ExpressionSyntaxError} when it is not JSONata
 * @throws {ExpressionRefused} when it names a function that a replay forbids, or reaches into JSONata itself
 * @throws {ExpressionFailed} when evaluating it fails, or takes too much memory
 * @throws {ExpressionTimeout} when the time is up
 * @throws {UwfError} `evaluator-unavailable` when the child is needed and cannot be started
 */
export function evaluate(source: string, scope: Scope, options: EvaluateOptions = {}): Promise<JsonValue | undefined> {
  return evaluateInBox(source, scope, 'value', options);
}

/**
 * Tells whether an expression holds: whether JSONata's `$boolean` is true for its value. Without a value it does not hold.
 * @throws as `evaluate`
 */
export async function holds(source: string, scope: Scope, options: EvaluateOptions = {}): Promise<boolean> {
  const comparison = plainComparison(source);
  const compared = comparison && comparePlainly(comparison, scope);
  if (compared !== undefined) return compared;
  return (await evaluateInBox(source, scope, 'truth', options)) === true;
}

async function evaluateInBox(
  source: string,
  scope: Scope,
  wanted: EvaluationTask['wanted'],
  { timeoutMs = DEFAULT_TIMEOUT_MS, mayVary = false }: EvaluateOptions,
): Promise<JsonValue | undefined> {
  const compiled = await compileExpression(source);
  assertHarmless(compiled, mayVary);
  const task: EvaluationTask = { source, timeoutMs, wanted, mayVary };
  if (compiled.reasonForChild === undefined) return evaluateHere(task, scope);
  const { sharedEvaluator } = await import('./evaluator-child.ts');
  return sharedEvaluator().evaluate(task, scope);
}

/**
 * Evaluates a comparison as JSONata does: a member that is not there is neither equal nor unequal.
 * @returns `undefined` where the scope is not that of a rule, or the member is no text, number or truth: JSONata has rules of its own
 *   for lists
 */
function comparePlainly(comparison: PlainComparison, scope: Scope): boolean | undefined {
  const { bindings } = scope;
  const { member, isNegated, literal } = comparison;
  if (isMark(member) || !Array.isArray(bindings['steps'])) return undefined;
  const subject = subjectOf(comparison, scope);
  if (subject === undefined) return false;
  if (!isJsonObject(subject)) return undefined;
  if (!Object.hasOwn(subject, member)) return false;
  const value = subject[member];
  return typeof value === 'object' ? undefined : (value === literal) !== isNegated;
}

/** The object whose member is compared; null if only JSONata can find it. */
function subjectOf({ of, role }: PlainComparison, { bindings, roles }: Scope): JsonValue | undefined {
  const { steps } = bindings;
  if (of === 'start') return bindings['start'];
  if (of !== 'newest') {
    const ends = Object.hasOwn(bindings, of) ? undefined : stepFunctions(steps, roles)[of];
    return ends === undefined ? null : ends(role);
  }
  const newest = Array.isArray(steps) ? steps.at(-1) : undefined;
  if (newest === undefined) return undefined;
  return isJsonObject(newest) ? newest['meta'] : null;
}
