import { isPerson } from '../../schema/built-in/workflow.ts';
import type { CommitOf, ThreadState } from '../../thread/thread-state.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { bindingFor } from '../config/config.ts';
import type { EngineContext } from '../engine-context.ts';

/** A thread that is suspended. */
export type Suspended = ThreadState & { head: CommitOf<'suspend'> };

/** Tells whether a thread waits for the reply of a role that a person of this machine has. */
export async function asksPerson(engine: EngineContext, state: ThreadState): Promise<boolean> {
  const { head } = state;
  if (head.kind !== 'suspend' || head.node.cause !== 'human') return false;
  const { name } = await definitionOf(engine, state);
  const agent = bindingFor(engine.config, name, head.node.role);
  return agent !== undefined && isPerson(agent);
}
