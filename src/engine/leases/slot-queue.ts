import { join } from 'node:path';
import { namesIn } from '../../git/system/files.ts';
import type { Repository } from '../../git/repository.ts';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import type { SlotHolder } from '../events.ts';
import { findCaller } from './find-lease.ts';
import { takeLeaseFile, type Lease } from './lease.ts';
import { isHolderAlive, readLeaseRecord } from './lease-file.ts';
import { SlotTicket } from './slot-ticket.ts';

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
export function slotQueueOf(repository: Repository, stateDir: string): SlotQueue {
  const queue = queues.get(repository) ?? new SlotQueue(join(stateDir, 'slots'));
  queues.set(repository, queue);
  return queue;
}

/**
 * The threads of this process that wait for a slot, in order. Only the first one looks at the slots' files, so the cost does
 * not grow with the number of threads that wait.
 */
export class SlotQueue {
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
