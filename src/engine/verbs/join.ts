import { UwfError } from '../../errors.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { getThread } from '../../thread/find-thread.ts';
import type { Machine, Telling } from '../engine-context.ts';
import type { ThreadOver } from '../events.ts';
import { findLease } from '../leases/find-lease.ts';
import { describeOver } from '../describe/gather-facts.ts';
import { Interrupted } from '../limits/limits.ts';
import { readCurrent } from '../leases/with-thread.ts';

const POLL_MS = 50;

/** See `Engine.join`. @throws {UwfError} `wait-timeout` if that takes longer than `timeoutMs` */
export async function joinThread(
  engine: Machine & Telling,
  thread: string,
  options: { timeoutMs?: number | undefined } = {},
): Promise<ThreadOver | undefined> {
  const { id } = await getThread(engine.repository, thread);
  const startedMs = performance.now();
  while (findLease(engine.repository, id)) {
    if (engine.signal.aborted) throw new Interrupted(id, engine.signal.reason);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && performance.now() - startedMs > timeoutMs) {
      throw new UwfError(`the work on thread ${id} was not over within ${timeoutMs / 1000} s`, {
        code: 'wait-timeout',
        kind: 'timeout',
        hint: "wait longer; 'uwf thread list' shows what it does",
      });
    }
    await sleep(POLL_MS);
  }
  const over = await describeOver(engine, await readCurrent(engine.repository, id));
  if (over) engine.relay(over);
  return over;
}
