import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { listThreads, summaryOf, type ThreadSummary } from '../../engine/describe/list-threads.ts';
import { nothingForDataError } from '../../thread/fault-of.ts';
import { findThread } from '../../thread/find/find-thread.ts';
import type { ThreadStatus } from '../../thread/read/thread-status.ts';
import { stateOf, stateOfText } from './topics.ts';

/** A page does not wait longer than this for the threads that wait: it says that they are still being read. */
const PATIENCE_MS = 150;
/** So much of the time is spent on reading them again, while threads change all the time. */
const SHARE = 0.1;

/** A page shows no more than these: those behind them are not looked up again. */
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
    if (this.#reading !== undefined) await Promise.race([this.#reading, sleep(PATIENCE_MS, undefined, { ref: false })]);
    const isRead = this.#reading === undefined;
    return { threads: state === this.#state ? this.#threads : await this.#stillWaiting(), isRead };
  }

  /** The state of the topic `waiting`: how many questions there are, and which threads ask, such as `2.6f1d2a3b`. */
  async state(): Promise<string> {
    // A ref that cannot be read: pages say so, and a state that is not known changes nothing.
    const now = await this.now().catch(() => undefined);
    if (now === undefined) return '';
    const suspended = now.threads.filter(({ status }) => status === 'suspended');
    const heads = suspended.map(({ thread, head }) => `${thread} ${head}`).join('\n');
    return `${await this.#countQuestions(suspended)}.${stateOfText(heads).slice(0, 8)}`;
  }

  /** The question of a child is that of its caller, too, and of the caller of that. */
  async #countQuestions(suspended: readonly ThreadSummary[]): Promise<number> {
    const callers = suspended.filter(({ cause }) => cause === 'child').slice(0, MAX_LOOKED_UP);
    const views = await Promise.all(
      callers.map(({ thread }) => describeThread(this.#engine, thread).catch(nothingForDataError)),
    );
    return suspended.length - views.filter((view) => view !== undefined && view.waitsFor !== null).length;
  }

  /** Those that were read in another state, as they are now. */
  async #stillWaiting(): Promise<ThreadSummary[]> {
    const now = await Promise.all(
      this.#threads.slice(0, MAX_LOOKED_UP).map(async ({ thread }) => {
        const pointer = await findThread(this.#engine.repository, thread);
        return pointer === undefined ? [] : [await summaryOf(this.#engine, pointer)];
      }),
    );
    const waiting = now.flat().filter(({ status }) => waitingStatuses.includes(status));
    return [...waiting, ...this.#threads.slice(MAX_LOOKED_UP)];
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
