import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { namesIn } from '../../git/system/files.ts';
import { getThread } from '../../thread/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { readState, type ThreadState } from '../../thread/thread-state.ts';
import { foldEnded } from '../../thread/thread-verbs.ts';
import { monotonicMs } from '../../time/clock.ts';
import type { EngineContext, Machine, Telling } from '../engine-context.ts';
import type { SlotHolder } from '../events.ts';
import { enterRunTree, leaveRunTree } from '../limits/enter-run-tree.ts';
import { Interrupted } from '../limits/limits.ts';
import { findCaller, isHolderAlive, readLeaseRecord } from './find-lease.ts';
import { type Lease, takeLease, takeLeaseFile } from './lease.ts';

/** Finds a thread and reads it, finishing an ending that was cut in two. */
export async function readCurrent(repository: Repository, idOrPrefix: string): Promise<ThreadState> {
  const pointer = await getThread(repository, idOrPrefix);
  await foldEnded(repository, pointer);
  return readState(repository, pointer.id, pointer.head);
}

/**
 * Works on a thread under its lease. The head is read after the lease was taken, so that two processes never pay for one
 * turn.
 */
export async function withThread<T>(
  engine: Telling,
  idOrPrefix: string,
  adopt: string | undefined,
  work: (state: ThreadState, lease: Lease) => Promise<T>,
): Promise<T> {
  const { repository } = engine;
  const { id } = await getThread(repository, idOrPrefix);
  return withLease(engine, id, adopt, async (lease) => {
    return work(await readCurrent(repository, id), lease);
  });
}

/**
 * Does work under the lease of a thread, which need not exist yet.
 * @param adopt the token of a lease that another process took for this one
 */
export async function withLease<T>(
  engine: Telling,
  thread: ThreadId,
  adopt: string | undefined,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const lease = await takeLease(engine.repository, thread, adopt);
  engine.debug(thread, 'lease taken', { pid: process.pid });
  try {
    return await work(lease);
  } catch (error) {
    engine.debug(thread, 'stopped', { message: messageOf(error) });
    throw error;
  } finally {
    engine.debug(thread, 'lease released');
    // A process that follows stops when the lease is gone, so all lines have to be written by then.
    engine.journal.close(thread);
    lease.release();
    leaveRunTree(engine, thread);
  }
}

/**
 * Does work on a thread in one of the `limits.maxParallelThreads` slots that the processes of this machine share for a
 * repository; waits until one is free, and tells which threads have them. A slot is a lease file.
 *
 * `outsideSlot` of the engine that the work gets frees the slot while the thread waits for a child, which takes one of its
 * own. No thread therefore waits for another in a slot that the other needs. A process that ends loses its slots.
 */
export async function inSlot<T>(
  engine: EngineContext,
  state: ThreadState,
  work: (engine: EngineContext) => Promise<T>,
): Promise<T> {
  const canWork = state.head.kind !== 'suspend' && state.end === undefined;
  if (canWork) enterRunTree(engine, state.id, `thread ${state.id}`);
  const limit = engine.config.limits?.maxParallelThreads;
  const { stateDir } = engine.repository;
  // Without a disk there is only this process, and its program knows what it runs.
  if (!canWork || limit === undefined || stateDir === undefined) return work(engine);
  const slot = new Slot(engine, state.id, join(stateDir, 'slots'), limit);
  await slot.take();
  try {
    return await work({ ...engine, outsideSlot: (wait) => slot.outside(wait) });
  } finally {
    slot.end();
  }
}

/** How long a thread waits before it looks for a free slot again; half as long or twice, so that processes do not look in step. */
const PAUSE_MS = 100;
const numbered = /^([1-9][0-9]*)\.json$/;

type Look = { atMs: number; holders: ReadonlyMap<number, SlotHolder> };

/** The last look at each folder of slots: one look serves all threads of this process that wait, as there may be thousands. */
const looks = new Map<string, Look>();

/** The slot of one thread at work, which is free while the thread waits for children. */
class Slot {
  readonly #engine: Machine & Telling;
  readonly #thread: ThreadId;
  readonly #folder: string;
  readonly #limit: number;
  #lease: Lease | undefined;
  #waits = 0;
  #isOver = false;
  #looking: Promise<void> | undefined;

  constructor(engine: Machine & Telling, thread: ThreadId, folder: string, limit: number) {
    this.#engine = engine;
    this.#thread = thread;
    this.#folder = folder;
    this.#limit = limit;
  }

  /** Takes a slot when one is free, unless the thread begins to wait for a child meanwhile, or its run is over. */
  async take(): Promise<void> {
    const { signal } = this.#engine;
    const startedMs = monotonicMs();
    let isTold = false;
    while (this.#lease === undefined && this.#waits === 0 && !this.#isOver) {
      if (signal.aborted) throw new Interrupted(this.#thread, signal.reason);
      // Of several waits that end at once, one looks.
      await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
      if (this.#lease !== undefined) break;
      isTold ||= this.#tellHolders();
      await sleep(PAUSE_MS * 2 ** (2 * Math.random() - 1));
    }
    if (!isTold || this.#lease === undefined) return;
    this.#engine.debug(this.#thread, 'slot taken', { waitedMs: Math.round(monotonicMs() - startedMs) });
  }

  /** Waits for a child without the slot. Of several waits at once, the last to end takes the slot again. */
  async outside<T>(wait: () => Promise<T>): Promise<T> {
    this.#waits += 1;
    this.#free();
    try {
      return await wait();
    } finally {
      this.#waits -= 1;
      await this.take();
    }
  }

  end(): void {
    this.#isOver = true;
    this.#free();
  }

  #free(): void {
    this.#lease?.release();
    this.#lease = undefined;
    looks.delete(this.#folder);
  }

  async #look(): Promise<void> {
    const lease = await this.#find();
    if (lease === undefined) return;
    looks.delete(this.#folder);
    if (this.#waits > 0 || this.#isOver) lease.release();
    else this.#lease = lease;
  }

  async #find(): Promise<Lease | undefined> {
    const { repository, env } = this.#engine;
    let look = looks.get(this.#folder);
    if (look === undefined || monotonicMs() - look.atMs > PAUSE_MS) {
      // The agent that runs this process waits for it in a slot, so one thread of those below it can have that one.
      const caller = findCaller(repository, env);
      const lease = caller && (await this.#tryToTake(caller));
      if (lease !== undefined) return lease;
      look = { atMs: monotonicMs(), holders: readHolders(this.#folder, repository.now()) };
      looks.set(this.#folder, look);
    }
    // Slots count that were given out while the limit was higher.
    if (look.holders.size >= this.#limit) return undefined;
    for (let number = 1; number <= this.#limit; number += 1) {
      const lease = look.holders.has(number) ? undefined : await this.#tryToTake(number);
      if (lease !== undefined) return lease;
    }
    return undefined;
  }

  async #tryToTake(name: string | number): Promise<Lease | undefined> {
    const path = join(this.#folder, `${name}.json`);
    const outcome = await takeLeaseFile(path, this.#engine.repository.now, this.#thread);
    return outcome.kind === 'taken' ? outcome.lease : undefined;
  }

  /** Tells which threads have the slots; false if one was free, which others have taken in this moment. */
  #tellHolders(): boolean {
    const holders = [...(looks.get(this.#folder)?.holders.values() ?? [])];
    if (holders.length < this.#limit) return false;
    this.#engine.tell({ event: 'thread.waiting', thread: this.#thread, limit: this.#limit, holders });
    return true;
  }
}

function readHolders(folder: string, nowMs: number): ReadonlyMap<number, SlotHolder> {
  const holders = new Map<number, SlotHolder>();
  for (const name of namesIn(folder)) {
    const number = numbered.exec(name)?.[1];
    const record = number === undefined ? undefined : readLeaseRecord(join(folder, name));
    if (record === undefined || record === 'unreadable' || !isHolderAlive(record, nowMs)) continue;
    holders.set(Number(number), { thread: record.thread ?? '', pid: record.holder.pid, host: record.holder.host });
  }
  return holders;
}
