import { endThread } from '../thread/end-thread.ts';
import { findChildren } from '../thread/find-children.ts';
import { WrongThreadState } from '../thread/thread-errors.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import type { EngineContext } from './context.ts';
import type { ThreadOver } from './events.ts';
import { describeOver } from './over.ts';
import { stopThread } from './stop.ts';
import { readCurrent, withLease } from './with-thread.ts';

/** What a shell gives for a program that was interrupted, and uwf for a thread that was cancelled. */
const CANCELLED_CODE = 130;

/** Ends a thread for good, whoever works on it, its children first; see `Engine.cancel`. */
export async function cancelThread(
  context: EngineContext,
  thread: string,
  options: { reason?: string; graceMs?: number } = {},
): Promise<ThreadOver> {
  const { repository } = context;
  const before = await readCurrent(repository, thread);
  if (before.end) {
    const status = statusOfHead(before.head, false);
    throw new WrongThreadState(before.id, status, 'it is over already', `run 'uwf thread show ${before.id}'`);
  }
  await stopThread(context, before.id, options);
  for (const { pointer } of await findChildren(repository, before)) {
    if (!(await readCurrent(repository, pointer.id)).end) await cancelThread(context, pointer.id, options);
  }
  return withLease(context, before.id, undefined, async (state) => {
    const summary = context.redaction().text(options.reason ?? 'cancelled by a person');
    const ended = state.end
      ? state
      : await endThread(repository, state, { outcome: 'cancelled', returnCode: CANCELLED_CODE, summary });
    const over = await describeOver(context, ended);
    if (!over) throw new WrongThreadState(state.id, 'idle', 'it could not be ended', 'try again');
    context.tell(over);
    return over;
  });
}
