import { UwfError } from '../errors.ts';
import { holds } from '../expression/evaluation/evaluate.ts';
import type { JsonObject } from '../json.ts';
import type { RoleCheck } from '../workflow/definition.ts';
import { seenByExpression } from '../expression/analysis/compile-expression.ts';
import { stepsSeenBy, type DecisionContext, type StartView } from './decision.ts';
import { CheckFailed } from './moderator-errors.ts';

/** The input of a role's checks. */
export type CheckContext = {
  /** The reply's meta, which its schema has accepted. */
  meta: JsonObject;
  /** The steps before this one, oldest first. */
  steps: DecisionContext['steps'];
  start: StartView;
};

/**
 * Returns the messages of the checks that do not hold for a reply, in their order.
 *
 * Bindings are `$meta`, `$steps`, `$start` and the functions over the steps; `meta`, `steps`, `start` are the input document.
 * @throws {CheckFailed} when a check does not compile, or has no result within its limits of time and memory
 * @throws {UwfError} `evaluator-unavailable` when a check needs the child and the machine does not give it
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
