import type { ThreadState } from '../../thread/thread-state.ts';
import { admitThreads } from '../agents/admission.ts';
import type { EngineContext, LeaseOptions, Machine } from '../engine-context.ts';
import type { ThreadOver } from '../events.ts';
import type { Lease } from '../leases/lease.ts';
import { inSlot, readCurrent, withThread } from '../leases/with-thread.ts';
import type { StepOutcome, TurnWish } from '../turn/step.ts';
import { runUntilOver, storePending, takeStep } from '../turn.ts';

/** `agent` does the next turn, whatever is configured; those after it are the configured ones'. */
export type RunOptions = LeaseOptions & Pick<TurnWish, 'agent' | 'allowSecrets'>;

/** See `Engine.run`. */
export async function runThread(
  engine: EngineContext,
  thread: string,
  { adoptLease, ...wish }: RunOptions = {},
): Promise<ThreadOver> {
  return withThread(engine, thread, adoptLease, async (state, lease) => {
    await admitToRun(engine, state, wish.agent);
    return runOn(engine, lease, state, wish);
  });
}

/** See `Engine.checkRun`. */
export async function checkRun(
  engine: Machine,
  thread: string,
  options: Pick<RunOptions, 'agent'> = {},
): Promise<void> {
  await admitToRun(engine, await readCurrent(engine.repository, thread), options.agent);
}

async function admitToRun(engine: Machine, state: ThreadState, wanted: string | undefined): Promise<void> {
  if (state.end === undefined && state.head.kind !== 'suspend') await admitThreads(engine, [state], wanted);
}

/** The same for a thread whose lease is held, and whose agents were admitted. */
export function runOn(
  engine: EngineContext,
  lease: Lease,
  from: ThreadState,
  wish: TurnWish = {},
): Promise<ThreadOver> {
  return inSlot(engine, from, (inner) => runUntilOver(inner, lease, from, wish));
}

export type StepOptions = LeaseOptions & TurnWish;

/** See `Engine.step`. */
export async function stepThread(
  engine: EngineContext,
  thread: string,
  { adoptLease, ...wish }: StepOptions = {},
): Promise<StepOutcome> {
  return withThread(engine, thread, adoptLease, async (before, lease) => {
    const kept = await storePending(engine, before, wish);
    return (kept ?? (await inSlot(engine, before, (inner) => takeStep(inner, lease, before, wish)))).outcome;
  });
}
