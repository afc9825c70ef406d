import type { ThreadState } from '../thread/thread-state.ts';
import { UwfError } from '../errors.ts';
import { admitThreads } from './admission.ts';
import type { EngineContext, LeaseOptions } from './context.ts';
import type { ThreadOver } from './events.ts';
import type { Lease } from './lease.ts';
import { rememberFacts } from './gather-facts.ts';
import { describeOver } from './over.ts';
import { inSlot } from './slots.ts';
import { storeKept, takeStep, type TurnWish } from './step.ts';
import { Interrupted } from './turn-clock.ts';
import { readCurrent, withLease } from './with-thread.ts';

/** `agent` does the next turn, whatever is configured; those after it are the configured ones'. */
export type RunOptions = LeaseOptions & Pick<TurnWish, 'agent' | 'allowSecrets'>;

/** Steps a thread until it is over or suspended; see `Engine.run`. */
export async function runThread(context: EngineContext, thread: string, options: RunOptions = {}): Promise<ThreadOver> {
  return withLease(context, thread, options.adoptLease, async (state, lease) => {
    await admitToRun(context, state, options.agent);
    return inSlot(context, state, () => runOn(context, lease, state, options));
  });
}

/** Has all agents admitted that running a thread can need; see `Engine.checkRun`. */
export async function checkRun(
  context: EngineContext,
  thread: string,
  options: Pick<RunOptions, 'agent'> = {},
): Promise<void> {
  await admitToRun(context, await readCurrent(context.repository, thread), options.agent);
}

async function admitToRun(context: EngineContext, state: ThreadState, wanted: string | undefined): Promise<void> {
  if (state.end === undefined && state.head.kind !== 'suspend') await admitThreads(context, [state], wanted);
}

/** The same for a thread whose lease is held, and whose agents were admitted. */
export async function runOn(
  context: EngineContext,
  lease: Lease,
  from: ThreadState,
  wish: TurnWish = {},
): Promise<ThreadOver> {
  let state = (await storeKept(context, from, wish.allowSecrets))?.state ?? from;
  let next: TurnWish | undefined = wish;
  for (;;) {
    const over = await describeOver(context, state);
    if (over) {
      context.tell(over);
      return over;
    }
    if (context.signal.aborted) throw new Interrupted(state.id, context.signal.reason);
    const result = await takeStep(context, lease, state, next).catch((error: unknown) => {
      // Of a child thread and its callers, the outermost has the last word.
      if (error instanceof UwfError && error.kind === 'agent')
        error.wayOn = `then 'uwf thread run ${state.id}' goes on`;
      throw error;
    });
    next = undefined;
    state = result.state;
    await rememberFacts(context, state, result.nextRole);
  }
}
