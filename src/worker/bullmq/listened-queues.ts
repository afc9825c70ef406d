import { createHash, randomBytes } from 'node:crypto';
import type { Job, JobsOptions, Worker } from 'bullmq';
import { isObjectId } from '../../git/format/object-id.ts';
import { monotonicMs } from '../../time/clock.ts';
import { orElse } from '../../or-else.ts';
import { arrayOf, isString, objectOf, stringThat } from '../../shape.ts';
import { isThreadId } from '../../thread/thread-id.ts';
import { isCovered, type TurnJob } from '../turn-queue.ts';
import type { QueuePackages, RedisConnection } from './redis-connection.ts';

/** How long a worker waits until it looks again by itself: for sets of needs that are new, and for offers that were missed. */
const POLL_MS = 2_000;

/** The queues that the labels of this machine cover, also those that are made while it listens. */
export class ListenedQueues {
  readonly #packages: QueuePackages;
  readonly #connection: RedisConnection;
  readonly #labels: readonly string[];
  readonly #times: LockTimes;
  readonly #registry: NeedsRegistry;
  readonly #queues = new Map<string, ListenedQueue>();
  #listedAtMs = -Infinity;
  #turn = 0;

  constructor(packages: QueuePackages, connection: RedisConnection, labels: readonly string[], times: LockTimes) {
    this.#packages = packages;
    this.#connection = connection;
    this.#labels = labels;
    this.#times = times;
    this.#registry = new NeedsRegistry(connection);
    // There is always one to wait for.
    this.#listenTo(queueOf([]));
  }

  /** Locks a job of any of the queues, each queue being the first in its turn. */
  async next(): Promise<LockedJob | undefined> {
    await this.#list();
    const queues = [...this.#queues.values()];
    const first = this.#turn++ % queues.length;
    for (const queue of [...queues.slice(first), ...queues.slice(0, first)]) {
      const locked = await queue.next();
      if (locked !== undefined) return locked;
    }
    return undefined;
  }

  /**
   * Waits until a job is offered, or for a while. An offer wakes one of the workers that wait, and that worker wakes the next
   * one when it takes the job.
   * @param waiting a connection that does nothing else, because the command occupies it
   */
  async untilOffered(waiting: RedisConnection): Promise<void> {
    const markers = [...this.#queues.values()].map(({ marker }) => marker);
    await waiting.client.bzpopmin(...markers, POLL_MS / 1000);
  }

  /** Offers the jobs of workers again that have ended or lost their locks. */
  async recover(): Promise<void> {
    for (const queue of this.#queues.values()) await queue.recover();
  }

  async #list(): Promise<void> {
    const nowMs = monotonicMs();
    if (nowMs - this.#listedAtMs < POLL_MS) return;
    for (const queue of await this.#registry.list()) this.#listenTo(queue);
    this.#listedAtMs = nowMs;
  }

  #listenTo(queue: NeedsQueue): void {
    if (this.#queues.has(queue.name) || !isCovered(queue, this.#labels)) return;
    this.#queues.set(queue.name, new ListenedQueue(this.#packages, this.#connection, queue.name, this.#times));
  }
}

/** How long locks live, and how often the locks of others are looked at. */
export type LockTimes = { lockMs: number; tickMs: number };

export type LockedJob = { queue: ListenedQueue; job: Job; id: string; token: string };

/**
 * One queue of BullMQ that this machine takes jobs from, by hand: BullMQ's own loop would need two connections for each
 * queue, and counts the jobs at work for each queue alone.
 * @see https://docs.bullmq.io/patterns/manually-fetching-jobs
 */
export class ListenedQueue {
  readonly #worker: Worker<unknown, unknown>;
  readonly #connection: RedisConnection;
  readonly #lockMs: number;

  constructor({ bullmq }: QueuePackages, connection: RedisConnection, name: string, { lockMs, tickMs }: LockTimes) {
    this.#connection = connection;
    this.#lockMs = lockMs;
    const options = {
      connection: connection.client,
      prefix: connection.address.prefix,
      autorun: false,
      lockDuration: lockMs,
      stalledInterval: tickMs,
      // A job is only a hint: one that outlives many workers is offered on.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      skipVersionCheck: true,
    };
    // The default factory would open a second connection for each queue, to wait on.
    this.#worker = new bullmq.Worker(name, undefined, options, (queueName, queueOptions) =>
      bullmq.createRedisBackend(queueName, queueOptions),
    );
    // What fails is thrown to the caller; BullMQ prints errors without a listener.
    this.#worker.on('error', () => {});
  }

  /** The key that BullMQ puts an element into when a job is added, for one waiting worker to take out. */
  get marker(): string {
    return this.#worker.toKey('marker');
  }

  /** Locks the next job, or returns `undefined` if there is none. */
  async next(): Promise<LockedJob | undefined> {
    const token = randomBytes(12).toString('base64url');
    const job = await this.#worker.getNextJob(token, { block: false });
    if (job?.id === undefined) return undefined;
    return { queue: this, job, id: job.id, token };
  }

  /** Renews locks, also those that ran out while Redis was away and are free; returns the jobs whose lock another worker has. */
  async renew(locked: readonly LockedJob[]): Promise<LockedJob[]> {
    const [ids, tokens] = [locked.map(({ id }) => id), locked.map(({ token }) => token)];
    const refused = await this.#worker.extendJobLocks(ids, tokens, this.#lockMs);
    const lost: LockedJob[] = [];
    for (const each of locked.filter(({ id }) => refused.includes(id))) {
      const key = this.#worker.toKey(`${each.id}:lock`);
      const isFree = await this.#connection.client.set(key, each.token, 'PX', this.#lockMs, 'NX');
      if (isFree === null) lost.push(each);
    }
    return lost;
  }

  /** Offers the jobs again whose locks have run out. Of all workers, one does so in each interval. */
  async recover(): Promise<void> {
    await this.#worker.getBackend().moveStalledJobsToWait();
  }
}

/** Drops a job. A job that is not there any more, because Redis was wiped, or is another worker's, is left alone. */
export async function dropJob({ job, token }: LockedJob): Promise<void> {
  // As it was offered, unless another program wrote the job.
  job.opts.removeOnComplete = true;
  await unlessGone(job.moveToCompleted(null, token, false));
}

/** Gives a job back, as the next one to be taken. @param data what it is to hold from now on, if that is something else */
export async function returnJob({ job, token }: LockedJob, data?: StoredTurn): Promise<void> {
  if (data !== undefined) await unlessGone(job.updateData(data));
  await unlessGone(job.moveToWait(token));
}

async function unlessGone(done: Promise<unknown>): Promise<void> {
  await done.catch((error: unknown) => {
    // BullMQ's codes: -1 no such job, -2 no lock, -3 not at work, -6 the lock of another.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (typeof code !== 'number') throw error;
  });
}

type StoredJob = { name: string; data: StoredTurn; opts: JobsOptions };

/** The data of a job: the turn, and what became of those that left nothing and whose workers went on. */
export type StoredTurn = TurnJob & { losses?: string[] };

const isStoredTurn = objectOf<StoredTurn>({
  remote: isString,
  thread: stringThat(isThreadId),
  head: stringThat(isObjectId),
  role: { mayBe: isString },
  needs: arrayOf(isString),
  losses: { mayBe: arrayOf(isString) },
});

/** The id under which a job is offered once: the thread and its head. BullMQ reserves ':' for its keys. */
export function jobIdOf({ thread, head }: Pick<TurnJob, 'thread' | 'head'>): string {
  return `${thread}-${head}`;
}

/** A job goes when it ends: a kept one would silently swallow the next offer of the same head. */
export function storedJob({ remote, thread, head, role, needs }: TurnJob): StoredJob {
  return {
    name: 'turn',
    data: { remote, thread, head, ...(role !== undefined && { role }), needs },
    opts: { jobId: jobIdOf({ thread, head }), removeOnComplete: true, removeOnFail: true },
  };
}

/** Reads a job that any client of the server can have written; `undefined` if it is none. */
export function readStoredJob(data: unknown): StoredTurn | undefined {
  return isStoredTurn(data) ? data : undefined;
}

/** A set of needs that jobs have, and the queue of BullMQ for them. */
export type NeedsQueue = { name: string; needs: readonly string[] };

const isNeeds = arrayOf(isString);

/** Names the queue of the jobs with these needs, in any order: by a digest, as a need can be any text and BullMQ allows no ':'. */
export function queueOf(needs: readonly string[]): NeedsQueue {
  const sorted = [...new Set(needs)].toSorted();
  const digest = createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16);
  return { name: sorted.length === 0 ? 'turns' : `turns-${digest}`, needs: sorted };
}

/**
 * The sets of needs that jobs were offered with: a set in Redis. Each offer adds its own again, so the registry is complete
 * again after Redis was wiped, as soon as all threads have been offered.
 */
export class NeedsRegistry {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  async add(queues: readonly NeedsQueue[]): Promise<void> {
    const members = queues.map(({ needs }) => JSON.stringify(needs));
    if (members.length > 0) await this.#connection.client.sadd(this.#key, members);
  }

  async list(): Promise<NeedsQueue[]> {
    const members = await this.#connection.client.smembers(this.#key);
    return members.flatMap((member) => {
      const needs = orElse((): unknown => JSON.parse(member), undefined);
      return isNeeds(needs) ? [queueOf(needs)] : [];
    });
  }

  get #key(): string {
    return `${this.#connection.address.prefix}:needs`;
  }
}
