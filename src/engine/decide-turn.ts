import { decide, decideAtLimit } from '../moderator/decide.ts';
import type { Decision, DecisionContext } from '../moderator/decision.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { findLimitReached } from './limits.ts';
import { allowanceOf } from './thread-limits.ts';

/** Decides who takes the next turn here: as the moderator says, unless a limit is in the way and a rule for limits fits. */
export async function decideTurn(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  decisions: DecisionContext,
): Promise<Decision> {
  return atLimit(context, state, definition, decisions, await decide(definition.moderator, decisions));
}

/**
 * Where a limit keeps the role from running that a decision names: the decision of a rule for limits, if one fits, which
 * leads to the end or to a role that may run. Else the decision itself.
 */
export async function atLimit(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  decisions: DecisionContext,
  decision: Decision,
): Promise<Decision> {
  const { moderator } = definition;
  if (!moderator.some(({ on }) => on === 'limit')) return decision;
  const isKept = async (next: Decision): Promise<boolean> =>
    next.kind === 'role' && findLimitReached(await allowanceOf(context, state, definition, next.role)) !== undefined;
  if (!(await isKept(decision))) return decision;
  const instead = await decideAtLimit(moderator, decisions);
  return instead === undefined || (await isKept(instead)) ? decision : instead;
}
