import type { ThreadState } from '../thread/thread-state.ts';
import type { EngineContext, LeaseOptions } from './context.ts';
import type { ThreadOver } from './events.ts';
import type { Lease } from './lease.ts';
import { rememberFacts } from './gather-facts.ts';
import { describeOver } from './over.ts';
import { inSlot } from './slots.ts';
import { takeStep } from './step.ts';
import { Interrupted } from './turn-clock.ts';
import { withLease } from './with-thread.ts';

export type RunOptions = LeaseOptions;

/** Steps a thread until it is over or suspended; see `Engine.run`. */
export async function runThread(context: EngineContext, thread: string, options: RunOptions = {}): Promise<ThreadOver> {
  return withLease(context, thread, options.adoptLease, (state, lease) =>
    inSlot(context, state, () => runOn(context, lease, state)),
  );
}

/** The same for a thread whose lease is held. */
export async function runOn(context: EngineContext, lease: Lease, from: ThreadState): Promise<ThreadOver> {
  let state = from;
  for (;;) {
    const over = await describeOver(context, state);
    if (over) {
      context.tell(over);
      return over;
    }
    if (context.signal.aborted) throw new Interrupted(context.signal.reason);
    const result = await takeStep(context, lease, state);
    state = result.state;
    await rememberFacts(context, state, result.nextRole);
  }
}
