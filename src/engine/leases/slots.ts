import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { namesIn } from '../../git/system/names-in.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/read/thread-state.ts';
import type { EngineContext } from '../engine-context.ts';
import type { SlotHolder } from '../events.ts';
import { findLease } from './find-lease.ts';
import { takeLeaseFile, type Lease } from './lease.ts';
import { isHolderAlive, readLeaseRecord } from './lease-file.ts';
import { Interrupted } from '../limits/turn-clock.ts';
import { monotonicMs } from '../../monotonic-ms.ts';

const POLL_MS = 100;
const suffix = '.json';

/**
 * Does work on a thread in one of the `limits.maxParallelThreads` slots that the processes of this machine share for a
 * repository; waits until one is free, and tells which threads have them.
 *
 * A slot is held like a lease: a process that ends loses it. A thread below another needs none, be it a child or started by
 * the other's agent: the one above waits for it, in a slot.
 * @throws {Interrupted} if the engine is told to stop while it waits
 */
export async function inSlot<T>(engine: EngineContext, state: ThreadState, work: () => Promise<T>): Promise<T> {
  const canWork = state.head.kind !== 'suspend' && state.end === undefined;
  const slot = canWork ? await takeSlot(engine, state.id) : undefined;
  try {
    return await work();
  } finally {
    slot?.release();
  }
}

async function takeSlot(engine: EngineContext, thread: ThreadId): Promise<Lease | undefined> {
  const { repository, config, signal } = engine;
  const count = config.limits?.maxParallelThreads;
  const { stateDir } = repository;
  // Without a disk there is only this process, and its program knows what it runs.
  if (count === undefined || stateDir === undefined || isBelowAnother(engine)) return undefined;
  const folder = join(stateDir, 'slots');
  const startedMs = monotonicMs();
  for (let isFirst = true; ; isFirst = false) {
    const holders = listHolders(folder, repository.now());
    const slot = holders.length < count ? await takeFree(folder, count, thread, repository.now) : undefined;
    if (slot) {
      if (!isFirst) engine.debug(thread, 'slot taken', { waitedMs: Math.round(monotonicMs() - startedMs) });
      return slot;
    }
    if (isFirst) engine.tell({ event: 'thread.waiting', thread, limit: count, holders });
    if (signal.aborted) throw new Interrupted(thread, signal.reason);
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/** Tells whether an agent at work on a thread of this repository runs this engine. */
function isBelowAnother({ repository, env }: EngineContext): boolean {
  const caller = env['UWF_THREAD'] ?? '';
  return isThreadId(caller) && findLease(repository, caller) !== undefined;
}

async function takeFree(
  folder: string,
  count: number,
  thread: ThreadId,
  now: () => number,
): Promise<Lease | undefined> {
  for (let number = 1; number <= count; number += 1) {
    const outcome = await takeLeaseFile(join(folder, number + suffix), now, thread);
    if (outcome.kind === 'taken') return outcome.lease;
  }
  return undefined;
}

/** The holders of slots, including slots that were given out while the limit was higher. */
function listHolders(folder: string, nowMs: number): SlotHolder[] {
  return namesIn(folder).flatMap((name) => {
    const record = name.endsWith(suffix) ? readLeaseRecord(join(folder, name)) : undefined;
    if (record === undefined || record === 'unreadable' || !isHolderAlive(record, nowMs)) return [];
    return [{ thread: record.thread ?? '', pid: record.holder.pid, host: record.holder.host }];
  });
}
