import type { JsonValue } from '../json.ts';
import { loadExpression } from './compile-expression.ts';
import { startTimeBox } from './cpu-time.ts';
import { ExpressionFailed, ExpressionTimeout } from './expression-errors.ts';
import { REFUSED_FUNCTIONS } from './function-names.ts';
import type { Scope } from './scope.ts';
import { copyJson, stepFunctions } from './scope.ts';

/** How far an evaluation may go, and what it is to give. Plain data: it travels to the child. */
export type EvaluationTask = {
  readonly source: string;
  /** Processor time, looked at between any two nodes of the tree: a busy machine decides nothing. */
  readonly timeoutMs: number;
  /** Nesting of evaluations; a call of a function takes four or five. */
  readonly maxDepth: number;
  /** `truth`: what `$boolean` makes of the value, false for none. */
  readonly wanted: 'value' | 'truth';
  /** Leaves `$now` and the like in place, for a query that nobody replays. */
  readonly mayVary: boolean;
};

/** The longest list that an expression may come to on its way. */
const LONGEST_SEQUENCE = 1_000_000;

/**
 * Evaluates an expression in this very process, within JSONata's own guard rails.
 *
 * They hold against recursion of every kind, and against lists that multiply, but not within one function: what they don't
 * stop belongs into the child, see `reasonForChild`. The same scope gives the same result wherever it is evaluated.
 * @returns plain JSON, or `undefined` where JSONata gives nothing
 * @throws {ExpressionSyntaxError} when the source is not JSONata
 * @throws {ExpressionFailed} when it comes to no value, or to a function
 * @throws {ExpressionTimeout} when the time is up
 */
export async function evaluateHere(task: EvaluationTask, scope: Scope): Promise<JsonValue | undefined> {
  const timeBox = startTimeBox(task.timeoutMs);
  const limits = {
    // JSONata looks at it anew each time, and compares it with wall time.
    get timeout(): number {
      return timeBox();
    },
    stack: task.maxDepth,
    sequence: LONGEST_SEQUENCE,
  };
  const expression = await loadExpression(task.source, limits);
  const own = copyJson({ input: scope.input, bindings: { ...scope.bindings } });
  const bindings: Record<string, unknown> = { ...stepFunctions(own.bindings.steps), ...own.bindings };
  if (!task.mayVary) for (const name of REFUSED_FUNCTIONS) bindings[name] = undefined;
  try {
    const value: unknown = await expression.evaluate(own.input, bindings);
    return task.wanted === 'truth' ? await truthOf(value) : plain(task.source, value);
  } catch (error) {
    throw evaluationError(task, error);
  }
}

async function truthOf(value: unknown): Promise<boolean> {
  const boolean = await loadExpression('$boolean($value)', {});
  return (await boolean.evaluate(null, { value })) === true;
}

// Sequences are arrays with marks of their own; what leaves here is JSON and nothing else.
function plain(source: string, value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  const text: string | undefined = isFunction(value) ? undefined : JSON.stringify(value);
  if (text === undefined) throw new ExpressionFailed(source, 'it gives a function, not a value');
  // What JSON.stringify wrote is JSON.
  return JSON.parse(text) as JsonValue;
}

function isFunction(value: unknown): boolean {
  if (typeof value === 'function') return true;
  return typeof value === 'object' && value !== null && ('_jsonata_lambda' in value || '_jsonata_function' in value);
}

const TIMED_OUT = 'D1012';

function evaluationError(task: EvaluationTask, error: unknown): Error {
  if (error instanceof ExpressionFailed) return error;
  // JSONata throws plain objects with these fields, and lets errors of the language through as they are.
  const { code, message, position } = error as { code?: string; message?: string; position?: number };
  if (code === TIMED_OUT) return new ExpressionTimeout(task.source, task.timeoutMs);
  const offset = position === undefined ? undefined : Math.max(0, position - 1);
  const [reason = ''] = (message ?? String(error)).split('\n', 1);
  return new ExpressionFailed(task.source, reason.replace(/\.$/, ''), offset, code);
}
