import type { JsonValue } from '../json.ts';
import type { EvaluationTask } from './evaluate-here.ts';
import { ExpressionFailed, ExpressionSyntaxError, ExpressionTimeout } from './expression-errors.ts';
import type { ScopeGrowth, SentScope } from './growing-scope.ts';

/** What the parent says, one JSON document a line. Every line is answered by one. */
export type EvaluatorRequest =
  | ({ kind: 'scope' } & SentScope)
  /** The scope that follows from the last one. */
  | { kind: 'growth'; growth: ScopeGrowth }
  | { kind: 'evaluate'; task: EvaluationTask };

/** What the child answers. A `value` without `value` is JSONata's "nothing". */
export type EvaluatorAnswer =
  | { kind: 'ready' }
  | { kind: 'value'; value?: JsonValue }
  | { kind: 'error'; error: CarriedError };

/** An error of this folder on its way between processes. */
export type CarriedError =
  | { kind: 'syntax'; reason: string; offset: number | undefined }
  | { kind: 'failed'; reason: string; offset: number | undefined; jsonataCode: string | undefined }
  | { kind: 'timeout' };

/** How much longer than its time box an evaluation may take before the child, which can no longer answer, is killed. */
export const GRACE_MS = 500;

/** How many times its time box the wall time of an evaluation may be, where other processes have the processors. */
export const MAX_STRETCH = 10;

/** Packs what `evaluateHere` throws. */
export function carryError(error: unknown): CarriedError {
  if (error instanceof ExpressionTimeout) return { kind: 'timeout' };
  if (error instanceof ExpressionSyntaxError) return { kind: 'syntax', reason: error.reason, offset: error.offset };
  if (error instanceof ExpressionFailed) {
    return { kind: 'failed', reason: error.reason, offset: error.offset, jsonataCode: error.jsonataCode };
  }
  return { kind: 'failed', reason: String(error), offset: undefined, jsonataCode: undefined };
}

/** Makes the error again that `carryError` packed. */
export function restoreError(task: EvaluationTask, carried: CarriedError): Error {
  if (carried.kind === 'timeout') return new ExpressionTimeout(task.source, task.timeoutMs);
  if (carried.kind === 'syntax') return new ExpressionSyntaxError(task.source, carried.reason, carried.offset);
  return new ExpressionFailed(task.source, carried.reason, carried.offset, carried.jsonataCode);
}
