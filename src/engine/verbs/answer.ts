import type { ThreadState } from '../../thread/read/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';
import {
  assertHears,
  assertWithinLimits,
  findAnsweredChild,
  storeReopened,
  storeResumption,
  takeUpBranches,
  type ResumeOptions,
} from './resume.ts';

type Answer = Pick<ResumeOptions, 'answer' | 'more'>;

/** Stores an answer to a suspended thread, or to the child that asked, and runs nothing; see `Engine.answer`. */
export async function answerThread(engine: EngineContext, thread: string, answer: Answer = {}): Promise<ThreadId> {
  const current = await readCurrent(engine.repository, thread);
  if (current.end) return (await storeReopened(engine, current, answer)).id;
  await store(engine, current.id, answer);
  return current.id;
}

async function store(engine: EngineContext, thread: ThreadId, given: Answer): Promise<void> {
  const { answer, more } = given;
  await withThread(engine, thread, undefined, async (state: ThreadState) => {
    if (answer === undefined && (await takeUpBranches(engine, state, more))) return;
    const child = await findAnsweredChild(engine, state, answer);
    // The thread itself goes on when no child of it waits any more.
    if (child !== undefined) return store(engine, child, given);
    assertHears(state, answer);
    await assertWithinLimits(engine, state, more);
    await storeResumption(engine, state, given);
  });
}
