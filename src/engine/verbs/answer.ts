import type { ThreadState } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';
import { assertHears, assertWithinLimits, findAnsweredChild } from './resume.ts';
import { storeReopened, storeResumption, type AnswerOptions } from './store-answer.ts';
import { takeUpWaiting } from './take-up.ts';

/** Stores an answer to a suspended thread, or to the child that asked, and runs nothing; see `Engine.answer`. */
export async function answerThread(
  engine: EngineContext,
  thread: string,
  answer: AnswerOptions = {},
): Promise<ThreadId> {
  const current = await readCurrent(engine.repository, thread);
  if (current.end) return (await storeReopened(engine, current, answer)).id;
  await store(engine, current.id, answer);
  return current.id;
}

async function store(engine: EngineContext, thread: ThreadId, given: AnswerOptions): Promise<void> {
  const { answer, more } = given;
  await withThread(engine, thread, undefined, async (state: ThreadState) => {
    const taken = answer === undefined ? await takeUpWaiting(engine, state, more) : undefined;
    // The thread itself goes on when no child of it waits any more.
    if (taken !== undefined) return void (taken.more && (await storeResumption(engine, state, taken)));
    const child = await findAnsweredChild(engine, state, answer);
    if (child !== undefined) return store(engine, child, given);
    assertHears(state, answer);
    await assertWithinLimits(engine, state, more);
    await storeResumption(engine, state, given);
  });
}
