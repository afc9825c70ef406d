import type { JsonValue } from '../json.ts';
import type { Scope } from './scope.ts';

/** A scope as it follows another one: all bindings but the steps, how many of the first steps stay, and those after them. */
export type ScopeGrowth = { bindings: Scope['bindings']; kept: number; moreSteps: readonly JsonValue[] };

/**
 * Says how a scope follows from another, if it is of the same thread, gone on: a long thread that is decided on after each
 * step is not handed over anew each time. What was the newest step may be another value by then, of which less is seen.
 * `undefined` where the two do not begin with the same steps.
 */
export function growthSince(before: Scope, now: Scope): ScopeGrowth | undefined {
  const [old, all] = [stepsOf(before), stepsOf(now)];
  if (old === undefined || all === undefined) return undefined;
  // The same thread's steps are the same values; looking into them would cost what this is to save.
  const other = old.findIndex((step, at) => all[at] !== step);
  const kept = other === -1 ? old.length : other;
  if (kept === 0 && old.length > 0) return undefined;
  const { steps: _, ...bindings } = now.bindings;
  return { bindings, kept, moreSteps: all.slice(kept) };
}

/** The scope that follows from another. */
export function growScope(before: Scope, { bindings, kept, moreSteps }: ScopeGrowth): Scope {
  const grown = { ...bindings, steps: [...(stepsOf(before) ?? []).slice(0, kept), ...moreSteps] };
  return { input: grown, bindings: grown };
}

/** A scope on its way between processes: what is document and bindings at once is sent once. */
export type SentScope = { bindings: Scope['bindings']; input?: JsonValue };

export function toSend({ input, bindings }: Scope): SentScope {
  return input === bindings ? { bindings } : { bindings, input };
}

export function received({ input, bindings }: SentScope): Scope {
  return { bindings, input: input === undefined ? bindings : input };
}

/** The steps of a scope whose bindings are its document, too, as the moderator makes it. */
function stepsOf({ input, bindings }: Scope): readonly JsonValue[] | undefined {
  return input === bindings && Array.isArray(bindings['steps']) ? bindings['steps'] : undefined;
}
