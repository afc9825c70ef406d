import type { Scope } from '../expression/scope.ts';
import type { JsonObject } from '../json.ts';
import type { DecisionContext } from './decision.ts';

/** The thread as expressions and templates see it. */
export type StepBindings = { steps: JsonObject[]; start: JsonObject; threadId: string };

/** Reads what rules may look at off a context; shares its values, so neither may be changed afterwards. */
export function toStepBindings({ steps, start, threadId }: DecisionContext): StepBindings {
  return { steps: [...steps], start, threadId };
}

/** The scope of a rule's `when`: the bindings, which are the input document too. */
export function ruleScope(context: DecisionContext): Scope {
  const bindings = toStepBindings(context);
  return { input: bindings, bindings };
}

/**
 * The variables of a rule's templates: the fields of the last step's meta, `_body` (its text), and `steps`, `start`, `threadId`.
 *
 * A field of meta wins over one of the last three of the same name: what the role reported is nearer than what uwf knows.
 * Before the first step there is neither meta nor `_body`.
 */
export function templateScope(context: DecisionContext): JsonObject {
  const last = context.steps.at(-1);
  return { ...toStepBindings(context), ...last?.meta, ...(last && { _body: last.text }) };
}
