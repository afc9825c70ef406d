import type { JsonValue } from '../../json.ts';
import { compileExpression, type CompiledExpression } from '../analysis/compile-expression.ts';
import { keepLoaded, loadExpression, takeLoaded } from '../analysis/load-expression.ts';
import { startTimeBox } from './cpu-time.ts';
import { ExpressionFailed, ExpressionRefused, ExpressionTimeout, readJsonataError } from '../expression-errors.ts';
import { REFUSED_FUNCTIONS } from '../analysis/function-names.ts';
import { closeOwnFunctions, isFunctionObject, watchEvaluation } from './harden-jsonata.ts';
import { copyJson, stepFunctions, type Scope } from './scope.ts';

/** An expression, its limits, and the kind of its result. Plain data, so that it can be sent to the child. */
export type EvaluationTask = {
  readonly source: string;
  /** Processor time, checked between any two nodes of the tree. The load of the machine does not change the result. */
  readonly timeoutMs: number;
  /** `truth`: the result of `$boolean` for the value; false if there is none. */
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
 * Evaluates an expression in this process, within JSONata's own limits.
 *
 * These stop recursion and lists that multiply, but not a single slow function: such expressions are for the child, see
 * `reasonForChild`. The same scope gives the same result in both.
 * @returns plain JSON, or `undefined` if JSONata has no result
 * @throws {ExpressionSyntaxError} when the source is not JSONata
 * @throws {ExpressionRefused} as `assertHarmless`
 * @throws {ExpressionFailed} when evaluating it fails, or its value is a function
 * @throws {ExpressionTimeout} when the time is up
 */
export async function evaluateHere(task: EvaluationTask, scope: Scope): Promise<JsonValue | undefined> {
  const compiled = await compileExpression(task.source);
  assertHarmless(compiled, task.mayVary);
  const clone = await closeOwnFunctions(loadExpression);
  const loaded = await takeLoaded(task.source);
  loaded.box.hasWallMs = startTimeBox(task.timeoutMs);
  const { expression } = loaded;
  // An expression that needs no child cannot make functions and read their parts, so only others are watched.
  if (compiled.reasonForChild !== undefined) watchEvaluation(expression, clone);
  const copied = copyJson({ input: scope.input, bindings: { ...scope.bindings } });
  // Copies share values without lists. A transform, or a query that may vary, could change these, so it gets a full copy.
  const own: typeof copied = compiled.mayChange || task.mayVary ? JSON.parse(JSON.stringify(copied)) : copied;
  const bindings: Record<string, unknown> = { ...stepFunctions(own.bindings.steps, scope.roles), ...own.bindings };
  if (!task.mayVary) for (const name of REFUSED_FUNCTIONS) bindings[name] = undefined;
  try {
    const value: unknown = await expression.evaluate(own.input, bindings);
    return task.wanted === 'truth' ? await truthOf(value) : plain(task.source, value);
  } catch (error) {
    throw evaluationError(task, error);
  } finally {
    // A watched expression keeps its watcher, so it is not cached.
    if (compiled.reasonForChild === undefined) keepLoaded(task.source, loaded);
  }
}

let toBoolean: Awaited<ReturnType<typeof loadExpression>> | undefined;

async function truthOf(value: unknown): Promise<boolean> {
  toBoolean ??= await loadExpression('$boolean($value)', {});
  return (await toBoolean.evaluate(null, { value })) === true;
}

// JSONata's sequences are arrays with extra properties. This returns plain JSON.
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
