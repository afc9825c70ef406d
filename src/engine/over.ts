import { readTextAt } from '../thread/thread-commit.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { ThreadOutline } from '../thread/thread-outline.ts';
import type { EngineContext } from './context.ts';
import type { ThreadOver } from './events.ts';

/** How a thread stands that is over or suspended; `undefined` for one that can go on. */
export async function describeOver(
  context: EngineContext,
  state: Pick<ThreadState | ThreadOutline, 'id' | 'head'>,
): Promise<ThreadOver | undefined> {
  const { head } = state;
  const common = { thread: state.id, head: head.id, status: statusOfHead(head, false) };
  if (head.kind === 'suspend') {
    const { reason, role, cause } = head.node;
    const suspension = head.hash;
    return { event: 'thread.suspended', ...common, returnCode: null, text: reason, role, cause, suspension };
  }
  if (head.kind !== 'end') return undefined;
  const text = await readTextAt(context.repository, head, 'summary.md');
  const { outcome, returnCode } = head.node;
  return { event: outcome === 'completed' ? 'thread.ended' : `thread.${outcome}`, ...common, returnCode, text };
}
