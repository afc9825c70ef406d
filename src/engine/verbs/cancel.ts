import { endThread } from '../../thread/thread-verbs.ts';
import { findCalledSince, findChildren } from '../../thread/find-children.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import { statusOfHead, type ThreadState } from '../../thread/thread-state.ts';
import type { Telling } from '../engine-context.ts';
import type { ThreadOver } from '../events.ts';
import { describeOver } from '../describe/gather-facts.ts';
import { storeOpenTurns } from '../turn/append.ts';
import { usageOfLeft } from '../limits/allowance.ts';
import { afterStop } from './stop.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';

/** The exit code that shells give to an interrupted program. */
const CANCELLED_CODE = 130;

type CancelOptions = { reason?: string | undefined; graceMs?: number | undefined };

/** See `Engine.cancel`. */
export async function cancelThread(engine: Telling, thread: string, options: CancelOptions = {}): Promise<ThreadOver> {
  const { repository } = engine;
  const before = await readCurrent(repository, thread);
  if (before.end) {
    const status = statusOfHead(before.head);
    throw new WrongThreadState(before.id, status, 'it is over already', `run 'uwf thread show ${before.id}'`);
  }
  return afterStop(engine, before.id, options, () => endStopped(engine, before, options));
}

async function endStopped(engine: Telling, before: ThreadState, options: CancelOptions): Promise<ThreadOver> {
  const { repository } = engine;
  for (const { pointer } of await findChildren(repository, before)) {
    if (!(await readCurrent(repository, pointer.id)).end) await cancelThread(engine, pointer.id, options);
  }
  return withThread(engine, before.id, undefined, async (state) => {
    const summary = engine.redaction().text(options.reason ?? 'cancelled by a person');
    const ended = state.end
      ? state
      : await endThread(repository, await storeOpenTurns({ engine, state }), {
          outcome: 'cancelled',
          returnCode: CANCELLED_CODE,
          summary,
          leftUsage: await usageOfLeft(repository, state, await findCalledSince(repository, state)),
        });
    const over = await describeOver(engine, ended);
    if (!over) throw new WrongThreadState(state.id, 'idle', 'it could not be ended', 'try again');
    engine.tell(over);
    return over;
  });
}
