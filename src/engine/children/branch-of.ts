import type { ThreadCall } from '../../schema/built-in/thread-start.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { parseThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import type { BranchName } from '../events.ts';

/** The branch that a call runs; `undefined` for a call of an agent. */
export function branchOf(call: ThreadCall | undefined): BranchName | undefined {
  return call?.block === undefined ? undefined : { block: call.block, key: call.key };
}

/** Tells that a thread goes on, if it is a branch. */
export function tellContinued(engine: EngineContext, { id, start }: ThreadState): void {
  const { call } = start.node;
  const branch = branchOf(call);
  if (call === undefined || branch === undefined) return;
  engine.tell({ event: 'branch.continued', thread: id, parent: parseThreadId(call.thread), branch });
}
