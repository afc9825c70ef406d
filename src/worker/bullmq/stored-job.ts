import { createHash } from 'node:crypto';
import type { JobsOptions } from 'bullmq';
import { isObjectId } from '../../git/format/object-id.ts';
import { orElse } from '../../or-else.ts';
import { arrayOf, isString, objectOf, stringThat } from '../../shape.ts';
import { isThreadId } from '../../thread/thread-id.ts';
import type { TurnJob } from '../turn-queue.ts';
import type { RedisConnection } from './redis-connection.ts';

/** A job as BullMQ takes it. */
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

/**
 * The id under which a job is offered once: the thread and its head. BullMQ reserves ':' for its keys.
 */
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

/**
 * Names the queue of the jobs with these needs, in whatever order they are. A need can be any text, and BullMQ allows no ':',
 * so the name is a digest.
 */
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
