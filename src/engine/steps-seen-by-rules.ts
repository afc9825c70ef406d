import { compileExpression } from '../expression/compile-expression.ts';
import { ExpressionSyntaxError } from '../expression/expression-errors.ts';
import { ALL_SEEN, NOTHING_SEEN, seenByBoth, type StepsSeen } from '../expression/steps-seen.ts';
import { isPlainText } from '../expression/template.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';

/**
 * Finds out what a workflow's rules, their templates and its roles' checks can see of the steps of a thread, all of them
 * together. Of the newest step that is everything: its role is where rules begin, and templates have its fields.
 */
export async function stepsSeenByRules({ roles, moderator }: WorkflowDefinition): Promise<StepsSeen> {
  let seen: StepsSeen = { ...NOTHING_SEEN, newest: 1 };
  for (const { when, prompt, location } of moderator) {
    if (when !== null) seen = seenByBoth(seen, await seenByExpression(when));
    for (const template of [prompt, location])
      if (template !== undefined) seen = seenByBoth(seen, seenByTemplate(template));
  }
  for (const { check } of Object.values(roles)) {
    for (const { expression } of check ?? []) seen = seenByBoth(seen, await seenByExpression(expression));
  }
  return seen;
}

async function seenByExpression(source: string): Promise<StepsSeen> {
  try {
    return (await compileExpression(source)).stepsSeen;
  } catch (error) {
    // What is no expression sees nothing: evaluating it fails, whatever it would be evaluated over.
    if (error instanceof ExpressionSyntaxError) return NOTHING_SEEN;
    throw error;
  }
}

/**
 * A variable of Liquid is named in plain letters, or by a text that may be worked out: between brackets, or in an expression
 * that a filter such as `where_exp` is given.
 */
function seenByTemplate(source: string): StepsSeen {
  return !isPlainText(source) && /steps|\[|_exp/.test(source) ? ALL_SEEN : NOTHING_SEEN;
}
