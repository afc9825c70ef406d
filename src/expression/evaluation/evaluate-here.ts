import type { JsonValue } from '../../json.ts';
import { compileExpression, type CompiledExpression } from '../analysis/compile-expression.ts';
import { keepLoaded, loadExpression, takeLoaded } from '../analysis/load-expression.ts';
import { startTimeBox } from './cpu-time.ts';
import { ExpressionFailed, ExpressionRefused, ExpressionTimeout, readJsonataError } from '../expression-errors.ts';
import { REFUSED_FUNCTIONS } from '../analysis/function-names.ts';
import { closeOwnFunctions, isFunctionObject, watchEvaluation } from './harden-jsonata.ts';
import { copyJson, stepFunctions, type Scope } from './scope.ts';

/** How far an evaluation may go, and what it is to give. Plain data: it travels to the child. */
export type EvaluationTask = {
  readonly source: string;
  /** Processor time, looked at between any two nodes of the tree: a busy machine decides nothing. */
  readonly timeoutMs: number;
  /** `truth`: what `$boolean` makes of the value, false for none. */
  readonly wanted: 'value' | 'truth';
  /** Leaves `$now` and the like in place, for a query that is never replayed. */
  readonly mayVary: boolean;
};

/**
 * @throws {ExpressionRefused} when an expression names a function that a replay forbids, unless it may vary, or reaches into
 * JSONata itself
 */
export function assertHarmless({ source, refused, unsafe }: CompiledExpression, mayVary: boolean): void {
  const [varying] = mayVary ? [] : refused;
  if (varying !== undefined) {
    throw new ExpressionRefused(source, {
      reason: `uses $${varying.name}, and a decision must come out the same when it is replayed`,
      hint: "use what the steps themselves record, for instance '$steps[-1].completedAtMs'",
      offset: varying.offset,
    });
  }
  if (unsafe[0] !== undefined) throw new ExpressionRefused(source, unsafe[0]);
}

/**
 * Evaluates an expression in this very process, within JSONata's own guard rails.
 *
 * They stop recursion and lists that multiply, but not a single function that takes long: such expressions belong into the
 * child, see `reasonForChild`. The same scope gives the same result in both.
 * @returns plain JSON, or `undefined` where JSONata gives nothing
 * @throws {ExpressionSyntaxError} when the source is not JSONata
 * @throws {ExpressionRefused} as `assertHarmless`
 * @throws {ExpressionFailed} when it comes to no value, or to a function
 * @throws {ExpressionTimeout} when the time is up
 */
export async function evaluateHere(task: EvaluationTask, scope: Scope): Promise<JsonValue | undefined> {
  const compiled = await compileExpression(task.source);
  assertHarmless(compiled, task.mayVary);
  const clone = await closeOwnFunctions(loadExpression);
  const loaded = await takeLoaded(task.source);
  loaded.box.hasWallMs = startTimeBox(task.timeoutMs);
  const { expression } = loaded;
  // What needs no child can make no function that it could look at.
  if (compiled.reasonForChild !== undefined) watchEvaluation(expression, clone);
  const copied = copyJson({ input: scope.input, bindings: { ...scope.bindings } });
  // Copies share what holds no list, and a transform changes what it is led to.
  const own: typeof copied = compiled.mayChange || task.mayVary ? JSON.parse(JSON.stringify(copied)) : copied;
  const bindings: Record<string, unknown> = { ...stepFunctions(own.bindings.steps, scope.roles), ...own.bindings };
  if (!task.mayVary) for (const name of REFUSED_FUNCTIONS) bindings[name] = undefined;
  try {
    const value: unknown = await expression.evaluate(own.input, bindings);
    return task.wanted === 'truth' ? await truthOf(value) : plain(task.source, value);
  } catch (error) {
    throw evaluationError(task, error);
  } finally {
    // What is watched keeps the watcher.
    if (compiled.reasonForChild === undefined) keepLoaded(task.source, loaded);
  }
}

let toBoolean: Awaited<ReturnType<typeof loadExpression>> | undefined;

async function truthOf(value: unknown): Promise<boolean> {
  toBoolean ??= await loadExpression('$boolean($value)', {});
  return (await toBoolean.evaluate(null, { value })) === true;
}

// Sequences are arrays with marks of their own; what leaves here is JSON and nothing else.
function plain(source: string, value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  const noFunction = (_key: string, part: unknown): unknown => {
    if (isFunctionObject(part)) throw new ExpressionFailed(source, 'it gives a function, not a value');
    return part;
  };
  return JSON.parse(JSON.stringify(value, noFunction));
}

const TIMED_OUT = 'D1012';

function evaluationError(task: EvaluationTask, error: unknown): Error {
  if (error instanceof ExpressionFailed) return error;
  const { code, message, position } = readJsonataError(error);
  if (code === TIMED_OUT) return new ExpressionTimeout(task.source, task.timeoutMs);
  const offset = position === undefined ? undefined : Math.max(0, position - 1);
  const [reason = ''] = message.split('\n', 1);
  return new ExpressionFailed(task.source, reason.replace(/\.$/, ''), offset, code);
}
