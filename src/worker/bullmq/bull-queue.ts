import type { Queue } from 'bullmq';
import type { TurnJob, TurnQueue } from '../turn-queue.ts';
import { BullWork } from './bull-work.ts';
import { type NeedsQueue, NeedsRegistry, queueOf, storedJob } from './listened-queues.ts';
import { loadQueuePackages, parseRedisUrl, type QueuePackages, RedisConnection } from './redis-connection.ts';

/**
 * Opens the queue in a Redis or Valkey server.
 *
 * The server may be wiped, stopped, restarted or replaced at any moment: a worker reconnects, tells so in one line, and goes
 * on. What was offered is gone then, until it is offered again. An offer fails while there is no connection.
 * @param url as `parseRedisUrl` takes it; no message contains its password
 * @param lockMs how long a worker that gives no sign of life keeps a job, in whole milliseconds
 * @throws {UwfError} `invalid-queue-url`, `queue-package-missing`, `queue-package-version`, `queue-unreachable`
 */
export async function openBullQueue(url: string, lockMs: number): Promise<TurnQueue> {
  const address = parseRedisUrl(url);
  const packages = await loadQueuePackages();
  const connection = await RedisConnection.open(packages, address, 'commands');
  const offers = new Offers(packages, connection);
  // A lock is renewed several times in its life, and a job is taken over soon after it ran out.
  const times = { lockMs, tickMs: Math.ceil(lockMs / 6) };
  return {
    offer: (jobs) => offers.add(jobs),
    work: async (take, workOptions) => {
      const waiting = await RedisConnection.open(packages, address, 'waiting');
      return new BullWork({ packages, connection, waiting, times }, take, workOptions);
    },
    close: async () => connection.close(),
  };
}

/** How many jobs go to Redis in one batch, which it works off without a pause for others. */
const BATCH = 500;

class Offers {
  readonly #packages: QueuePackages;
  readonly #connection: RedisConnection;
  readonly #registry: NeedsRegistry;
  readonly #queues = new Map<string, Queue>();

  constructor(packages: QueuePackages, connection: RedisConnection) {
    this.#packages = packages;
    this.#connection = connection;
    this.#registry = new NeedsRegistry(connection);
  }

  /** @throws {UwfError} `queue-unreachable`; some of the jobs may have been offered then */
  async add(jobs: readonly TurnJob[]): Promise<void> {
    const byQueue = new Map<string, { queue: NeedsQueue; jobs: TurnJob[] }>();
    for (const job of jobs) {
      const queue = queueOf(job.needs);
      const group = byQueue.get(queue.name);
      if (group === undefined) byQueue.set(queue.name, { queue, jobs: [job] });
      else group.jobs.push(job);
    }
    const groups = [...byQueue.values()];
    try {
      // Fails at once if there is no connection: BullMQ would wait for one.
      await this.#registry.add(groups.map(({ queue }) => queue));
      for (const group of groups) {
        for (let from = 0; from < group.jobs.length; from += BATCH) {
          await this.#queue(group.queue.name).addBulk(group.jobs.slice(from, from + BATCH).map(storedJob));
        }
      }
    } catch (error) {
      throw this.#connection.unreachable(error);
    }
  }

  #queue(name: string): Queue {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const { client, address } = this.#connection;
    const queue = new this.#packages.bullmq.Queue(name, {
      connection: client,
      prefix: address.prefix,
      // It would ask the server for its version once, and fail for ever if the connection is lost at that moment.
      skipVersionCheck: true,
    });
    // What fails is thrown to the caller; BullMQ prints errors without a listener.
    queue.on('error', () => {});
    this.#queues.set(name, queue);
    return queue;
  }
}
