import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { Interrupted } from '../limits/turn-clock.ts';
import type { Lease } from './lease.ts';
import { slotQueueOf, type SlotQueue } from './slot-queue.ts';

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
