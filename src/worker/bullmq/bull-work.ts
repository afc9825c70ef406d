import { setTimeout as delay } from 'node:timers/promises';
import type { TakeTurn, TurnVerdict, Work, WorkOptions } from '../turn-queue.ts';
import { JobAtWork } from './job-at-work.ts';
import { keepLocks } from './keep-locks.ts';
import { dropJob, returnJob } from './listened-queue.ts';
import type { LockTimes, LockedJob } from './listened-queue.ts';
import { ListenedQueues } from './listened-queues.ts';
import type { QueuePackages } from './load-packages.ts';
import type { RedisConnection } from './redis-connection.ts';
import { readStoredJob } from './stored-job.ts';
import { Troubles } from './troubles.ts';

/** What a worker on Redis stands on. */
export type BullWorkParts = {
  packages: QueuePackages;
  /** For commands that are answered at once. */
  connection: RedisConnection;
  /** For the wait for offers. */
  waiting: RedisConnection;
  times: LockTimes;
};

/** A worker that takes jobs from Redis, as many at once as it may. */
export class BullWork implements Work {
  readonly #parts: BullWorkParts;
  readonly #take: TakeTurn;
  readonly #options: WorkOptions;
  readonly #queues: ListenedQueues;
  readonly #troubles: Troubles;
  readonly #stop = new AbortController();
  /** By the ids of the jobs, which name a thread and its head. */
  readonly #atWork = new Map<string, JobAtWork>();
  readonly #turns = new Set<Promise<TurnVerdict>>();
  readonly #ends = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  readonly #letLocksGo: () => void;

  constructor(parts: BullWorkParts, take: TakeTurn, options: WorkOptions) {
    this.#parts = parts;
    this.#take = take;
    this.#options = options;
    this.#troubles = new Troubles(parts.connection, options.onTrouble);
    this.#queues = new ListenedQueues(parts.packages, parts.connection, options.labels, parts.times);
    this.#letLocksGo = keepLocks(parts.connection, this.#atWork, this.#queues, parts.times, this.#troubles);
    this.#loop = this.#run();
  }

  async finish(): Promise<void> {
    this.#stop.abort();
    // Ends the wait for an offer.
    this.#parts.waiting.close();
    await this.#loop;
    while (this.#ends.size > 0) await Promise.all(this.#ends);
    this.#letLocksGo();
  }

  async giveBack(): Promise<void> {
    this.#stop.abort();
    for (const job of this.#atWork.values()) job.abort('the worker gives its jobs back');
    await this.finish();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    let failures = 0;
    while (!signal.aborted) {
      if (this.#turns.size >= this.#options.atOnce) {
        await Promise.race([...this.#turns, stopped]);
        continue;
      }
      try {
        await this.#takeNext(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        await this.#backOff(error, failures++, signal);
      }
    }
  }

  async #takeNext(signal: AbortSignal): Promise<void> {
    const locked = await this.#queues.next();
    if (locked === undefined) await this.#queues.untilOffered(this.#parts.waiting);
    else if (signal.aborted) await returnJob(locked);
    else await this.#begin(locked);
  }

  async #begin(locked: LockedJob): Promise<void> {
    const job = readStoredJob(locked.job.data);
    if (job === undefined) {
      this.#troubles.tell(new Error('a job in the queue is none of uwf; it is dropped'));
      await dropJob(locked);
      return;
    }
    const same = this.#atWork.get(locked.id);
    if (same !== undefined) {
      same.adopt(locked);
      return;
    }
    const atWork = new JobAtWork(job, locked);
    this.#atWork.set(locked.id, atWork);
    const turn = atWork.take(this.#take, this.#options.onTrouble);
    this.#turns.add(turn);
    const end = this.#end(atWork, turn).finally(() => this.#ends.delete(end));
    this.#ends.add(end);
  }

  async #end(atWork: JobAtWork, turn: Promise<TurnVerdict>): Promise<void> {
    const verdict = await turn;
    this.#turns.delete(turn);
    try {
      await atWork.settle(verdict, this.#parts.connection, this.#stop.signal);
    } catch (error) {
      this.#troubles.tell(error);
    }
    this.#atWork.delete(atWork.locked.id);
  }

  async #backOff(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const { connection, waiting } = this.#parts;
    if (!connection.isReady || !waiting.isReady) {
      // The one for commands tells that it is lost. The two are rarely lost at the same moment.
      await connection.untilReady(signal);
      await waiting.untilReady(signal);
      return;
    }
    this.#troubles.tell(error);
    await delay(Math.min(1000 * 2 ** failures, 30_000), undefined, { signal }).catch(() => {});
  }
}
