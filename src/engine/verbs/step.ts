import type { EngineContext } from '../engine-context.ts';
import type { LeaseOptions } from '../engine-context.ts';
import { inSlot } from '../leases/slots.ts';
import { withThread } from '../leases/with-thread.ts';
import type { StepOutcome, TurnWish } from '../turn/step.ts';
import { storeKept, takeStep } from '../turn/take-step.ts';

export type StepOptions = LeaseOptions & TurnWish;

/** Does one step of a thread; see `Engine.step`. */
export async function stepThread(
  engine: EngineContext,
  thread: string,
  { adoptLease, ...wish }: StepOptions = {},
): Promise<StepOutcome> {
  return withThread(engine, thread, adoptLease, async (before, lease) => {
    const kept = await storeKept(engine, before);
    return (kept ?? (await inSlot(engine, before, (inner) => takeStep(inner, lease, before, wish)))).outcome;
  });
}
