import { nodesBehind } from '../cas/history-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { loadWorkflow } from '../workflow/load-workflow.ts';
import type { EngineContext } from './context.ts';

/** The definition a thread was started with: the thread's own copy, whatever was registered since. */
export function definitionOf(context: EngineContext, state: Pick<ThreadState, 'start'>): Promise<WorkflowDefinition> {
  return pinnedDefinition(context, state, state.start.node.workflow);
}

/** A definition that lies in a thread's start: its own, or a sub-workflow's. */
export async function pinnedDefinition(
  context: EngineContext,
  state: Pick<ThreadState, 'start'>,
  hash: NodeHash,
): Promise<WorkflowDefinition> {
  const known = context.definitions.get(hash);
  if (known) return known;
  const definition = await loadWorkflow(nodesBehind(context.repository, [state.start.id]), hash);
  context.definitions.set(hash, definition);
  return definition;
}
