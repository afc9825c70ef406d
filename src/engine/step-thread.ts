import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { statusOfHead, type ThreadStatus } from '../thread/thread-status.ts';
import type { EngineContext, LeaseOptions } from './context.ts';
import type { ThreadOver } from './events.ts';
import { rememberFacts } from './gather-facts.ts';
import { describeOver } from './over.ts';
import { inSlot } from './slots.ts';
import { storeKept, takeStep, type StepResult, type TurnWish } from './step.ts';
import { withLease } from './with-thread.ts';

export type StepOptions = LeaseOptions & TurnWish;

/** What one step came to. */
export type StepOutcome = {
  thread: ThreadId;
  status: ThreadStatus;
  /** Who ran; null when nothing ran. */
  role: string | null;
  /** The new step; null when none was stored. */
  step: NodeHash | null;
  head: ObjectId;
  /** Who is next; null when the thread waits or is over. */
  nextRole: string | null;
  /** Set when the thread is over or waits. */
  over: ThreadOver | undefined;
};

/** Does one step of a thread; see `Engine.step`. */
export async function stepThread(
  context: EngineContext,
  thread: string,
  options: StepOptions = {},
): Promise<StepOutcome> {
  return withLease(context, thread, options.adoptLease, async (before, lease) => {
    const result =
      (await storeKept(context, before)) ??
      (await inSlot(context, before, () => takeStep(context, lease, before, options)));
    return outcomeOf(context, result, result.state !== before);
  });
}

/** Says what a step came to, and remembers it, if it changed anything. */
export async function outcomeOf(
  context: EngineContext,
  { state, stored, nextRole }: StepResult,
  isNew: boolean,
): Promise<StepOutcome> {
  const over = await describeOver(context, state);
  if (isNew) await rememberFacts(context, state, nextRole);
  if (over && isNew) context.tell(over);
  return {
    thread: state.id,
    status: statusOfHead(state.head, false),
    role: stored?.role ?? null,
    step: stored?.step ?? null,
    head: state.head.id,
    nextRole,
    over,
  };
}
