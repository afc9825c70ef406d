import { decide } from '../moderator/decide.ts';
import type { Decision } from '../moderator/decision.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { decisionContext } from './decision-context.ts';

/** What the moderator says about a thread as it stands. */
export async function decideNext(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
): Promise<Decision> {
  return decide(definition.moderator, await decisionContext(context.repository, state, definition.name));
}
