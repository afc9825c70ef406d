import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { listThreads, summaryOf, type ThreadSummary } from '../../engine/describe/list-threads.ts';
import { findRunning } from '../../engine/leases/find-lease.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { nothingForDataError } from '../../thread/thread-errors.ts';
import { findThread, listPointers } from '../../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import type { ThreadStatus } from '../../thread/thread-status.ts';
import { stateOf, stateOfText } from './topics.ts';

/** A page does not wait longer than this for the threads that wait: it says that they are still being read. */
const MAX_WAIT_MS = 150;
/** The most of the time that is spent on reading threads, while threads change all the time. */
const SHARE = 0.3;

/** So many threads are looked at one by one; of more, those that are remembered are read together. */
const MAX_LOOKED_UP = 100;

const waitingStatuses: readonly ThreadStatus[] = ['suspended', 'interrupted'];

/** The threads that wait for a person, as far as they are known. */
export type WaitingNow = { threads: readonly ThreadSummary[]; isRead: boolean };

/**
 * Knows which threads wait for a person. To find them, every active thread is looked at once, which takes seconds where there
 * are 100,000. After that only those are looked at that have another head, or whose process has begun or ended.
 */
export class WaitingThreads {
  /** Is called when threads were read, for those who were told of an earlier state. */
  onRead: () => void = () => {};
  readonly #engine: EngineContext;
  readonly #waiting = new Map<ThreadId, ThreadSummary>();
  /** The heads of all active threads when they were read; `undefined` before the first time. */
  #heads: ReadonlyMap<ThreadId, ObjectId> | undefined;
  #running: ReadonlySet<ThreadId> = new Set();
  /** The state of the repository's threads in which they were read. */
  #state = '';
  #reading: Promise<void> | undefined;
  #notBeforeMs = 0;

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  /** Newest first; those of an earlier state as they are now. */
  async now(): Promise<WaitingNow> {
    const state = await stateOf(this.#engine, 'threads');
    // The page reads threads itself, and says what is wrong with them.
    if (state !== this.#state) this.#reading ??= this.#readSoon(state).catch(() => {});
    if (this.#reading !== undefined) await Promise.race([this.#reading, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    const isRead = this.#reading === undefined;
    const threads = [...this.#waiting.values()].toSorted((a, b) => (a.thread < b.thread ? 1 : -1));
    return { threads: state === this.#state ? threads : await this.#stillWaiting(threads), isRead };
  }

  /** The state of the topic `waiting`: how many questions there are, and which threads ask, such as `2.6f1d2a3b`. */
  async state(): Promise<string> {
    try {
      const now = await this.now();
      const suspended = now.threads.filter(({ status }) => status === 'suspended');
      const heads = suspended.map(({ thread, head }) => `${thread} ${head}`).join('\n');
      return `${await this.#countQuestions(suspended)}.${stateOfText(heads).slice(0, 8)}`;
    } catch {
      // What cannot be read, pages say; and a state that is not known changes nothing.
      return '';
    }
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
  async #stillWaiting(threads: readonly ThreadSummary[]): Promise<ThreadSummary[]> {
    const now = await Promise.all(
      threads.slice(0, MAX_LOOKED_UP).map(async ({ thread }) => {
        const pointer = await findThread(this.#engine.repository, thread);
        return pointer === undefined ? [] : [await summaryOf(this.#engine, pointer)];
      }),
    );
    return [...now.flat().filter(isWaiting), ...threads.slice(MAX_LOOKED_UP)];
  }

  async #readSoon(state: string): Promise<void> {
    try {
      await sleep(Math.max(0, this.#notBeforeMs - performance.now()), undefined, { ref: false });
      const startedMs = performance.now();
      const isFirst = this.#heads === undefined;
      await this.#read();
      this.#state = state;
      const tookMs = performance.now() - startedMs;
      // A list that is read in a moment is read again at once.
      this.#notBeforeMs = isFirst || tookMs < MAX_WAIT_MS ? 0 : performance.now() + tookMs / SHARE;
    } finally {
      this.#reading = undefined;
    }
    this.onRead();
  }

  async #read(): Promise<void> {
    const { repository } = this.#engine;
    const before = this.#heads;
    const running = new Set(findRunning(repository));
    const pointers = await listPointers(repository, { active: true }, { damaged: () => {} });
    const heads = new Map(pointers.map(({ id, head }) => [id, head]));
    const hasChanged = ({ id, head }: ThreadPointer): boolean =>
      before?.get(id) !== head || this.#running.has(id) !== running.has(id);
    const changed = pointers.filter(hasChanged);
    const found = await this.#look(before === undefined ? undefined : changed);
    for (const { id } of changed) this.#waiting.delete(id);
    for (const thread of found) this.#waiting.set(thread.thread, thread);
    for (const id of this.#waiting.keys()) if (!heads.has(id)) this.#waiting.delete(id);
    [this.#heads, this.#running] = [heads, running];
  }

  /** @param among default: all */
  async #look(among: readonly ThreadPointer[] | undefined): Promise<ThreadSummary[]> {
    if (among !== undefined && among.length <= MAX_LOOKED_UP) {
      const found = await Promise.all(among.map((pointer) => summaryOf(this.#engine, pointer)));
      return found.filter(isWaiting);
    }
    const ids = among && new Set(among.map(({ id }) => id));
    return listThreads(this.#engine, { statuses: waitingStatuses, onDamaged: () => {}, among: ids });
  }
}

function isWaiting({ status }: ThreadSummary): boolean {
  return waitingStatuses.includes(status);
}
