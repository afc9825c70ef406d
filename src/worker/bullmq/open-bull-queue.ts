import { packageRoot } from '../../package-root.ts';
import type { TurnQueue } from '../turn-queue.ts';
import { BullWork } from './bull-work.ts';
import { loadQueuePackages } from './load-packages.ts';
import { Offers } from './offer-jobs.ts';
import { parseRedisUrl, RedisConnection } from './redis-connection.ts';

const LOCK_MS = 30_000;

/** How to open a queue on Redis. */
export type BullQueueOptions = {
  /**
   * Where BullMQ and ioredis can be beside uwf's own folder: in the `node_modules` of these folders or above. The code there
   * runs, so a folder of a repository belongs here only if the user trusts it.
   */
  packageFolders: readonly string[];
  /** How long a worker that gives no sign of life keeps a job, in whole milliseconds. Half a minute if absent. */
  lockMs?: number | undefined;
};

/**
 * Opens the queue in a Redis or Valkey server.
 *
 * The server may be wiped, stopped, restarted or replaced at any moment: a worker reconnects, tells so in one line, and goes
 * on. What was offered is gone then, until it is offered again. An offer fails while there is no connection.
 * @param url as `parseRedisUrl` takes it; no message contains its password
 * @throws {UwfError} `invalid-queue-url`, `queue-package-missing`, `queue-package-version`, `queue-unreachable`
 */
export async function openBullQueue(url: string, options: BullQueueOptions): Promise<TurnQueue> {
  const address = parseRedisUrl(url);
  const packages = await loadQueuePackages([packageRoot(), ...options.packageFolders]);
  const connection = await RedisConnection.open(packages, address, 'commands');
  const offers = new Offers(packages, connection);
  const lockMs = options.lockMs ?? LOCK_MS;
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
