import type { TurnQueue } from '../turn-queue.ts';
import { BullWork } from './bull-work.ts';
import { loadQueuePackages } from './load-packages.ts';
import { Offers } from './offer-jobs.ts';
import { parseRedisUrl, RedisConnection } from './redis-connection.ts';

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
