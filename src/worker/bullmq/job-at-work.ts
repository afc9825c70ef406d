import { setTimeout as delay } from 'node:timers/promises';
import type { TakeTurn, TellTrouble, TurnJob, TurnVerdict } from '../turn-queue.ts';
import { dropJob, returnJob } from './listened-queue.ts';
import type { LockedJob } from './listened-queue.ts';
import type { StoredTurn } from './stored-job.ts';
import type { RedisConnection } from './redis-connection.ts';

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** A job that this worker has: from its lock to its end. */
export class JobAtWork {
  readonly #job: TurnJob;
  readonly #losses: readonly string[];
  /** What became of its turn, if that left nothing. */
  #lost: string | undefined;
  readonly #abort = new AbortController();
  #locked: LockedJob;

  constructor({ losses = [], ...job }: StoredTurn, locked: LockedJob) {
    this.#job = job;
    this.#losses = losses;
    this.#locked = locked;
  }

  get locked(): LockedJob {
    return this.#locked;
  }

  /** Goes on under another lock: this worker was given the job again, because Redis had been wiped. */
  adopt(locked: LockedJob): void {
    this.#locked = locked;
  }

  /** Has the agent stop. */
  abort(reason: string): void {
    this.#abort.abort(new Error(reason));
  }

  /** Takes the turn. A turn that throws can be tried again. */
  async take(take: TakeTurn, onTrouble: TellTrouble): Promise<TurnVerdict> {
    const { signal } = this.#abort;
    const silent = Array.from({ length: this.#locked.job.stalledCounter }, () => 'a worker fell silent');
    const losses = [...this.#losses, ...silent];
    try {
      return await take(this.#job, { signal, losses, lose: (what) => (this.#lost = what) });
    } catch (error) {
      if (!signal.aborted) onTrouble(error, this.#job.thread);
      return 'again';
    }
  }

  /**
   * Ends the job in Redis. One that is to be tried again stays locked for a pause, which is longer with each time it was taken:
   * a delayed job of BullMQ would be due by the clocks of other machines.
   * @param stop ends the pause, and the wait for a connection
   */
  async settle(verdict: TurnVerdict, connection: RedisConnection, stop: AbortSignal): Promise<void> {
    if (verdict === 'again') await this.#pause(stop);
    const giveBack = (locked: LockedJob): Promise<void> => returnJob(locked, this.#data());
    const end = verdict === 'again' ? giveBack : dropJob;
    try {
      await end(this.#locked);
    } catch (error) {
      if (connection.isReady) throw error;
      await connection.untilReady(stop);
      // If this fails too, the lock runs out, and another worker finds what the thread's ref says.
      await end(this.#locked);
    }
  }

  /** The data of the job with what has become of its turn; `undefined` if that is nothing new. */
  #data(): StoredTurn | undefined {
    return this.#lost === undefined ? undefined : { ...this.#job, losses: [...this.#losses, this.#lost] };
  }

  async #pause(stop: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stop, this.#abort.signal]);
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (this.#locked.job.attemptsStarted - 1), MAX_PAUSE_MS);
    // Not all that a fault of one remote has stopped come back at the same moment.
    await delay(pauseMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {});
  }
}
