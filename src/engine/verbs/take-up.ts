import { inPlaceOf } from '../../or-else.ts';
import type { MoreLimits } from '../../schema/built-in/schema-parts.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { asksForWords } from '../../thread/thread-status.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { findWaitingChildren } from '../children/waiting-children.ts';
import type { EngineContext } from '../engine-context.ts';
import { LeaseHeld } from '../leases/lease.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';
import { findLimitWaitedAt } from '../limits/allowance.ts';
import { storeResumption } from './store-answer.ts';

/** Causes that a new try may do away with. The others need a person who has seen what happened in that thread. */
const passing: ReadonlySet<SuspendCause> = new Set([
  'agent',
  'invalid-reply',
  'timeout',
  'limit',
  'interrupted',
  'rule',
]);

/**
 * Takes up the children that a suspended thread waits for, where no words are needed and the thread can then run them by itself:
 * all branches of a block, and children that wait at a limit of the thread that `more` raises.
 * @returns how much more the thread itself is given; undefined if nothing was taken up
 */
export async function takeUpWaiting(
  engine: EngineContext,
  state: ThreadState,
  more?: MoreLimits,
): Promise<{ more?: MoreLimits } | undefined> {
  if (more !== undefined && (await isWaitedAt(engine, state, state.id))) {
    return (await takeUpBelow(engine, state, more, state.id)) ? { more } : undefined;
  }
  const waiting = await findWaitingChildren(engine, state);
  if (waiting.length < 2 || waiting.every(({ branch }) => branch === undefined)) return undefined;
  return (await takeUpBelow(engine, state, more)) ? {} : undefined;
}

/** Tells whether a child of a thread, however far below, waits at a limit of a caller. */
async function isWaitedAt(engine: EngineContext, state: ThreadState, caller: ThreadId): Promise<boolean> {
  for (const { thread } of await findWaitingChildren(engine, state)) {
    const child = await readCurrent(engine.repository, thread);
    if ((await findLimitWaitedAt(engine, child))?.caller === caller) return true;
    if (await isWaitedAt(engine, child, caller)) return true;
  }
  return false;
}

/**
 * Resumes the children that a thread waits for, without running them.
 * @param caller whom `more` is given, above all of them; default: each child that waits at a limit
 * @returns false if no child goes on
 */
async function takeUpBelow(
  engine: EngineContext,
  state: ThreadState,
  more?: MoreLimits,
  caller?: ThreadId,
): Promise<boolean> {
  let isAny = false;
  for (const { thread } of await findWaitingChildren(engine, state)) {
    const isTaken = await takeUp(engine, thread, more, caller).catch(inPlaceOf(LeaseHeld, false));
    isAny ||= isTaken;
  }
  return isAny;
}

/** Resumes a thread without running it, if it waits for no words. */
async function takeUp(
  engine: EngineContext,
  thread: ThreadId,
  more: MoreLimits | undefined,
  caller: ThreadId | undefined,
): Promise<boolean> {
  return withThread(engine, thread, undefined, async (state) => {
    if (state.head.kind !== 'suspend') return false;
    const { node } = state.head;
    const isPassing = node.cause === 'child' ? await takeUpBelow(engine, state, more, caller) : passing.has(node.cause);
    if (!isPassing || asksForWords(node) || (await findLimitWaitedAt(engine, state, more))) return false;
    await storeResumption(engine, state, { more: caller === undefined ? more : undefined });
    return true;
  });
}
