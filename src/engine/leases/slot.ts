import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { isFarFromNow, namesIn } from '../../git/system/files.ts';
import { monotonicMs } from '../../monotonic-ms.ts';
import { tryTo } from '../../or-else.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import type { SlotHolder } from '../events.ts';
import { Interrupted } from '../limits/turn-clock.ts';
import { findCaller } from './find-lease.ts';
import { isHolderAlive, readLeaseRecord } from './lease-file.ts';
import { type Lease, takeLeaseFile } from './lease.ts';

/** The slot of one thread at work, which is free while the thread waits for children. */
export class Slot {
  readonly #engine: EngineContext;
  readonly #thread: ThreadId;
  readonly #limit: number;
  readonly #queue: SlotQueue;
  #lease: Lease | undefined;
  /** How many children the thread waits for. */
  #waits = 0;
  /** Ends the taking that is under way. */
  #taking = new AbortController();

  constructor(engine: EngineContext, thread: ThreadId, { stateDir, limit }: { stateDir: string; limit: number }) {
    this.#engine = engine;
    this.#thread = thread;
    this.#limit = limit;
    this.#queue = slotQueueOf(engine.repository, stateDir);
  }

  /** @throws {Interrupted} if the engine is told to stop while it waits */
  async take(isAgain = false): Promise<void> {
    const { signal } = this.#engine;
    const taking = new AbortController();
    this.#taking = taking;
    const lease = await this.#queue.take({
      engine: this.#engine,
      thread: this.#thread,
      limit: this.#limit,
      isAgain,
      signal: AbortSignal.any([signal, taking.signal]),
    });
    // The thread has begun to wait again, or its run is over.
    if (taking.signal.aborted) return lease?.release();
    if (lease === undefined) throw new Interrupted(this.#thread, signal.reason);
    this.#lease = lease;
  }

  /** Waits for a child without the slot. Of several waits at once, the last to end takes the slot again. */
  async outside<T>(wait: () => Promise<T>): Promise<T> {
    this.#waits += 1;
    this.free();
    try {
      return await wait();
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) await this.take(true);
    }
  }

  free(): void {
    this.#taking.abort();
    if (this.#lease === undefined) return;
    this.#lease.release();
    this.#lease = undefined;
    this.#queue.lookNow();
  }
}

const POLL_MS = 100;
const numbered = /^[1-9][0-9]*\.json$/;

type SlotWish = {
  engine: EngineContext;
  thread: ThreadId;
  /** `limits.maxParallelThreads`. */
  limit: number;
  /** The thread has had a slot before, and goes before those that have had none. */
  isAgain: boolean;
  /** Ends the wait. */
  signal: AbortSignal;
};

type Waiter = SlotWish & {
  resolve: (lease: Lease | undefined) => void;
  reject: (error: unknown) => void;
  sinceMs: number;
  isTold: boolean;
};

const queues = new WeakMap<Repository, SlotQueue>();

/** The queue of this process for the slots of a repository. */
function slotQueueOf(repository: Repository, stateDir: string): SlotQueue {
  const queue = queues.get(repository) ?? new SlotQueue(join(stateDir, 'slots'));
  queues.set(repository, queue);
  return queue;
}

/**
 * The threads of this process that wait for a slot, in order. Only the first one looks at the slots' files, so the cost does
 * not grow with the number of threads that wait.
 */
class SlotQueue {
  readonly #folder: string;
  readonly #ticket: SlotTicket;
  #waiters: Waiter[] = [];
  #isServing = false;
  #endPause: () => void = () => {};

  constructor(folder: string) {
    this.#folder = folder;
    this.#ticket = new SlotTicket(folder);
  }

  /** Takes a slot when one is free; `undefined` if the signal is aborted first. */
  take(wish: SlotWish): Promise<Lease | undefined> {
    return new Promise((resolve, reject) => {
      const place = wish.isAgain ? this.#waiters.findIndex(({ isAgain }) => !isAgain) : -1;
      const waiter = { ...wish, resolve, reject, sinceMs: monotonicMs(), isTold: false };
      this.#waiters.splice(place === -1 ? this.#waiters.length : place, 0, waiter);
      wish.signal.addEventListener('abort', () => this.lookNow(), { once: true });
      if (!this.#isServing) void this.#serve();
    });
  }

  /** Looks for a free slot now, not only when the pause ends. */
  lookNow(): void {
    this.#endPause();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let first = this.#findFirst(); first !== undefined; first = this.#findFirst()) {
      const waiter = first;
      try {
        const lease = await this.#tryToTake(waiter);
        if (lease === undefined) {
          await this.#pause();
          continue;
        }
        waiter.resolve(lease);
      } catch (error) {
        waiter.reject(error);
      }
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
      // The next thread of this process goes behind the other processes.
      this.#ticket.drop();
    }
    this.#ticket.drop();
    this.#isServing = false;
  }

  #findFirst(): Waiter | undefined {
    for (const { signal, resolve } of this.#waiters) if (signal.aborted) resolve(undefined);
    this.#waiters = this.#waiters.filter(({ signal }) => !signal.aborted);
    return this.#waiters[0];
  }

  async #tryToTake({ engine, thread, limit, sinceMs, isTold }: Waiter): Promise<Lease | undefined> {
    const { now } = engine.repository;
    const take = async (name: string | number): Promise<Lease | undefined> => {
      const outcome = await takeLeaseFile(join(this.#folder, `${name}.json`), now, thread);
      return outcome.kind === 'taken' ? outcome.lease : undefined;
    };
    const caller = findCaller(engine.repository, engine.env);
    let lease = caller && (await take(caller));
    const names = namesIn(this.#folder);
    const holders = this.#readHolders(names, now());
    if (lease === undefined && this.#ticket.isNext(names, limit - holders.length)) {
      for (let number = 1; lease === undefined && number <= limit; number += 1) lease = await take(number);
    }
    if (lease === undefined) this.#wait(holders);
    else if (isTold) engine.debug(thread, 'slot taken', { waitedMs: Math.round(monotonicMs() - sinceMs) });
    return lease;
  }

  /** The holders of slots, including slots that were given out while the limit was higher. */
  #readHolders(names: readonly string[], nowMs: number): SlotHolder[] {
    return names.flatMap((name) => {
      const record = numbered.test(name) ? readLeaseRecord(join(this.#folder, name)) : undefined;
      if (record === undefined || record === 'unreadable' || !isHolderAlive(record, nowMs)) return [];
      return [{ thread: record.thread ?? '', pid: record.holder.pid, host: record.holder.host }];
    });
  }

  #wait(holders: readonly SlotHolder[]): void {
    this.#ticket.renew();
    for (const waiter of this.#waiters) {
      // With a slot free it waits for a process before it, which takes moments.
      if (waiter.isTold || holders.length < waiter.limit) continue;
      waiter.isTold = true;
      waiter.engine.tell({ event: 'thread.waiting', thread: waiter.thread, limit: waiter.limit, holders });
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, POLL_MS);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const prefix = 'waiting-';

/** A process that has not renewed its ticket for so long has ended, or was stopped. */
const EXPIRY_MS = 2_000;

/**
 * The place of this process in the order of those that wait for a slot: a file beside the slots, whose name begins with the
 * time. Of the threads of a process only the first has one, so processes take turns.
 *
 * It only makes the order fair. How many slots there are is decided by the slots' own files, and a ticket that is not renewed
 * holds up no process.
 */
class SlotTicket {
  readonly #folder: string;
  #name: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes a ticket, or shows that the process still waits. */
  renew(): void {
    this.#name ??= `${prefix}${Date.now()}-${randomUUID()}`;
    const path = join(this.#folder, this.#name);
    // On a full disk the order is not fair.
    tryTo(() => writeFileSync(path, `${process.pid}\n`));
  }

  drop(): void {
    if (this.#name === undefined) return;
    const path = join(this.#folder, this.#name);
    this.#name = undefined;
    tryTo(() => rmSync(path, { force: true }));
  }

  /** Tells whether it is this process's turn while so many slots are free. */
  isNext(names: readonly string[], free: number): boolean {
    let left = free;
    for (const name of names.filter((one) => one.startsWith(prefix)).toSorted()) {
      if (left <= 0 || name === this.#name) break;
      const path = join(this.#folder, name);
      // One from the future was written before the clock was set back, and is not renewed any more either.
      if (isFarFromNow(path, EXPIRY_MS)) tryTo(() => rmSync(path, { force: true }));
      else left -= 1;
    }
    return left > 0;
  }
}
