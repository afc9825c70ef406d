import type { EngineContext } from '../../engine/engine-context.ts';
import { listThreads, summaryOf, type ThreadSummary } from '../../engine/describe/list-threads.ts';
import { findThread } from '../../thread/find/find-thread.ts';
import type { ThreadStatus } from '../../thread/read/thread-status.ts';
import { stateOf } from './topics.ts';

/** A page does not wait longer than this for the threads that wait: it says that they are still being read. */
const PATIENCE_MS = 150;
/** So much of the time is spent on reading them again, while threads change all the time. */
const SHARE = 0.1;

/** A page shows no more than these. */
const MAX_LOOKED_UP = 100;

const waitingStatuses: readonly ThreadStatus[] = ['suspended', 'interrupted'];

/** The threads that wait for a person, as far as they are known. */
export type WaitingNow = { threads: readonly ThreadSummary[]; isRead: boolean };

/**
 * Knows which threads wait for a person. To find them, every active thread is looked at, which takes seconds where there are
 * 100,000; so they are remembered until a ref changes.
 */
export class WaitingThreads {
  readonly #engine: EngineContext;
  #threads: readonly ThreadSummary[] = [];
  /** In which they were read. */
  #state = '';
  #reading: Promise<void> | undefined;
  #notBeforeMs = 0;

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  /** Newest first. */
  async now(): Promise<WaitingNow> {
    const state = await stateOf(this.#engine, 'threads');
    // The page reads threads itself, and says what is wrong with them.
    if (state !== this.#state && performance.now() >= this.#notBeforeMs)
      this.#reading ??= this.#read(state).catch(() => {});
    if (this.#reading !== undefined) await Promise.race([this.#reading, pause(PATIENCE_MS)]);
    const isRead = this.#reading === undefined;
    return { threads: state === this.#state ? this.#threads : await this.#stillWaiting(), isRead };
  }

  /** Those that were read in another state, as they are now. */
  async #stillWaiting(): Promise<ThreadSummary[]> {
    const now = await Promise.all(
      this.#threads.slice(0, MAX_LOOKED_UP).map(async ({ thread }) => {
        const pointer = await findThread(this.#engine.repository, thread);
        return pointer === undefined ? [] : [await summaryOf(this.#engine, pointer)];
      }),
    );
    return now.flat().filter(({ status }) => waitingStatuses.includes(status));
  }

  async #read(state: string): Promise<void> {
    const startedMs = performance.now();
    try {
      this.#threads = await listThreads(this.#engine, { statuses: waitingStatuses, onDamaged: () => {} });
      this.#state = state;
    } finally {
      this.#reading = undefined;
      const tookMs = performance.now() - startedMs;
      // A list that is read in a moment is read again at once.
      this.#notBeforeMs = tookMs < PATIENCE_MS ? 0 : performance.now() + tookMs / SHARE;
    }
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}
