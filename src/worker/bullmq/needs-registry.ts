import { createHash } from 'node:crypto';
import { arrayOf, isString } from '../../shape.ts';
import { orElse } from '../../or-else.ts';
import type { RedisConnection } from './redis-connection.ts';

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
