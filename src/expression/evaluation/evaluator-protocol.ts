import type { JsonValue } from '../../json.ts';
import type { EvaluationTask } from './evaluate-here.ts';
import { ExpressionFailed, ExpressionSyntaxError, ExpressionTimeout } from '../expression-errors.ts';
import type { Scope } from './scope.ts';

/** A request of the parent, one JSON document a line. Each is answered by one line. */
export type EvaluatorRequest =
  | ({ kind: 'scope' } & SentScope)
  /** The scope that follows from the last one. */
  | { kind: 'growth'; growth: ScopeGrowth }
  | { kind: 'evaluate'; task: EvaluationTask };

/** An answer of the child. A `value` without `value` is JSONata's "nothing". */
export type EvaluatorAnswer =
  | { kind: 'ready' }
  | { kind: 'value'; value?: JsonValue }
  | { kind: 'error'; error: CarriedError };

/** An error of this folder, serialized. */
type CarriedError =
  | { kind: 'syntax'; reason: string; offset: number | undefined }
  | { kind: 'failed'; reason: string; offset: number | undefined; jsonataCode: string | undefined }
  | { kind: 'timeout' };

export function carryError(error: unknown): CarriedError {
  if (error instanceof ExpressionTimeout) return { kind: 'timeout' };
  if (error instanceof ExpressionSyntaxError) return { kind: 'syntax', reason: error.reason, offset: error.offset };
  if (error instanceof ExpressionFailed) {
    return { kind: 'failed', reason: error.reason, offset: error.offset, jsonataCode: error.jsonataCode };
  }
  return { kind: 'failed', reason: String(error), offset: undefined, jsonataCode: undefined };
}

export function restoreError(task: EvaluationTask, carried: CarriedError): Error {
  if (carried.kind === 'timeout') return new ExpressionTimeout(task.source, task.timeoutMs);
  if (carried.kind === 'syntax') return new ExpressionSyntaxError(task.source, carried.reason, carried.offset);
  return new ExpressionFailed(task.source, carried.reason, carried.offset, carried.jsonataCode);
}

/** The difference from an earlier scope: all bindings but the steps, how many of the first steps stay, and those after them. */
type ScopeGrowth = { bindings: Scope['bindings']; kept: number; moreSteps: readonly JsonValue[] };

/**
 * Returns how a scope differs from an earlier one of the same thread, so that a long thread is not sent anew for each
 * decision. Steps are sent again from the first that differs: a step that is no longer the newest may have less content.
 * `undefined` if the two do not begin with the same steps.
 */
export function growthSince(before: Scope, now: Scope): ScopeGrowth | undefined {
  const [old, all] = [stepsOf(before), stepsOf(now)];
  if (old === undefined || all === undefined) return undefined;
  // Compared by identity: the steps of one thread are the same objects, and a deep comparison would cost what this saves.
  const other = old.findIndex((step, at) => all[at] !== step);
  const kept = other === -1 ? old.length : other;
  if (kept === 0 && old.length > 0) return undefined;
  const { steps: _, ...bindings } = now.bindings;
  return { bindings, kept, moreSteps: all.slice(kept) };
}

export function growScope(before: Scope, { bindings, kept, moreSteps }: ScopeGrowth): Scope {
  const grown = { ...bindings, steps: [...(stepsOf(before) ?? []).slice(0, kept), ...moreSteps] };
  return { input: grown, bindings: grown };
}

/** A serialized scope. If the document is the bindings, it is sent only once. */
type SentScope = { bindings: Scope['bindings']; input?: JsonValue };

export function toSend({ input, bindings }: Scope): SentScope {
  return input === bindings ? { bindings } : { bindings, input };
}

export function received({ input, bindings }: SentScope): Scope {
  return { bindings, input: input === undefined ? bindings : input };
}

/** The steps of a scope whose document is its bindings, as in those of the moderator. */
function stepsOf({ input, bindings }: Scope): readonly JsonValue[] | undefined {
  return input === bindings && Array.isArray(bindings['steps']) ? bindings['steps'] : undefined;
}
