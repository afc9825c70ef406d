import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../time/clock.ts';
import type { TakeTurn, TellTrouble, TurnJob, TurnVerdict, Work, WorkOptions } from '../turn-queue.ts';
import {
  dropJob,
  type ListenedQueue,
  ListenedQueues,
  type LockedJob,
  type LockTimes,
  readStoredJob,
  returnJob,
  type StoredTurn,
} from './listened-queues.ts';
import type { QueuePackages, RedisConnection } from './redis-connection.ts';

type BullWorkParts = {
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
    parts.connection.tellOf(options.onTrouble);
    this.#queues = new ListenedQueues(parts.packages, parts.connection, options.labels, parts.times);
    this.#letLocksGo = keepLocks(parts.connection, this.#atWork, this.#queues, parts.times, this.#tell);
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
      this.#tell(new Error('a job in the queue is none of uwf; it is dropped'));
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
    const turn = atWork.take(this.#take);
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
      this.#tell(error);
    }
    this.#atWork.delete(atWork.locked.id);
  }

  /** That the connection is lost has been told. */
  readonly #tell: TellTrouble = (error) => {
    const { connection } = this.#parts;
    if (connection.isReady) this.#options.onTrouble(connection.faultOf(error));
  };

  async #backOff(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const { connection, waiting } = this.#parts;
    if (!connection.isReady || !waiting.isReady) {
      // The one for commands tells that it is lost. The two are rarely lost at the same moment.
      await connection.untilReady(signal);
      await waiting.untilReady(signal);
      return;
    }
    this.#tell(error);
    await delay(Math.min(1000 * 2 ** failures, 30_000), undefined, { signal }).catch(() => {});
  }
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** A job that this worker has: from its lock to its end. */
class JobAtWork {
  readonly #job: TurnJob;
  readonly #losses: readonly string[];
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

  abort(reason: string): void {
    this.#abort.abort(new Error(reason));
  }

  take(take: TakeTurn): Promise<TurnVerdict> {
    const { signal } = this.#abort;
    const silent = Array.from({ length: this.#locked.job.stalledCounter }, () => 'a worker fell silent');
    return take(this.#job, { signal, losses: [...this.#losses, ...silent], lose: (what) => (this.#lost = what) });
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

/**
 * Renews the locks of the jobs at work, aborts those whose lock another worker has, and offers the jobs of ended workers again.
 *
 * While Redis is away, nothing is aborted: no other worker can get the jobs there, and their agents may be close to the end.
 */
function keepLocks(
  connection: RedisConnection,
  atWork: ReadonlyMap<string, JobAtWork>,
  queues: ListenedQueues,
  { lockMs, tickMs }: LockTimes,
  tell: TellTrouble,
): () => void {
  let isBusy = false;
  let readyAtMs = monotonicMs();
  const tick = async (): Promise<void> => {
    if (isBusy || !connection.isReady) return;
    isBusy = true;
    try {
      await renew(atWork);
      // Workers that have just come back, as this one, need time to renew locks that ran out meanwhile.
      if (monotonicMs() - readyAtMs >= lockMs / 2) await queues.recover();
    } catch (error) {
      tell(error);
    }
    isBusy = false;
  };
  const onReady = (): void => {
    readyAtMs = monotonicMs();
    void tick();
  };
  const timer = setInterval(() => void tick(), tickMs);
  connection.client.on('ready', onReady);
  return () => {
    clearInterval(timer);
    connection.client.off('ready', onReady);
  };
}

async function renew(atWork: ReadonlyMap<string, JobAtWork>): Promise<void> {
  const byQueue = new Map<ListenedQueue, JobAtWork[]>();
  for (const each of atWork.values()) {
    const { queue } = each.locked;
    byQueue.set(queue, [...(byQueue.get(queue) ?? []), each]);
  }
  for (const [queue, jobs] of byQueue) {
    const lost = await queue.renew(jobs.map(({ locked }) => locked));
    // One that got another lock meanwhile has that one.
    for (const each of jobs) if (lost.includes(each.locked)) each.abort('another worker has the job');
  }
}
