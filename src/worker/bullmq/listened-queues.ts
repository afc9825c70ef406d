import { monotonicMs } from '../../monotonic-ms.ts';
import { ListenedQueue } from './listened-queue.ts';
import type { LockTimes, LockedJob } from './listened-queue.ts';
import type { QueuePackages } from './load-packages.ts';
import { isCovered } from '../turn-queue.ts';
import { NeedsRegistry, queueOf } from './needs-registry.ts';
import type { NeedsQueue } from './needs-registry.ts';
import type { RedisConnection } from './redis-connection.ts';

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
