import { setTimeout as sleep } from 'node:timers/promises';
import { getThread } from '../thread/find-thread.ts';
import type { EngineContext } from './context.ts';
import { WaitTimeout } from './engine-errors.ts';
import type { ThreadOver } from './events.ts';
import { findLease } from './find-lease.ts';
import { describeOver } from './over.ts';
import { Interrupted } from './turn-clock.ts';
import { readCurrent } from './with-thread.ts';

const POLL_MS = 50;

/**
 * Waits until nobody works on a thread, and says how it stands; `undefined` if it could go on (its runner died, or
 * was stopped). See `Engine.join`.
 * @throws {WaitTimeout} if that takes longer than `timeoutMs`
 */
export async function joinThread(
  context: EngineContext,
  thread: string,
  options: { timeoutMs?: number } = {},
): Promise<ThreadOver | undefined> {
  const { id } = await getThread(context.repository, thread);
  const startedMs = performance.now();
  while (findLease(context.repository, id)) {
    if (context.signal.aborted) throw new Interrupted(id, context.signal.reason);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && performance.now() - startedMs > timeoutMs) {
      throw new WaitTimeout(`the work on thread ${id}`, timeoutMs);
    }
    await sleep(POLL_MS);
  }
  const over = await describeOver(context, await readCurrent(context.repository, id));
  if (over) context.relay(over);
  return over;
}
