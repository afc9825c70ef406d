import type { Redis, RedisOptions } from 'ioredis';
import { UwfError, messageOf } from '../../errors.ts';
import type { QueuePackages } from './load-packages.ts';
import { QueueLost } from '../turn-queue.ts';
import type { RedisAddress } from './redis-address.ts';

/** A command that has no answer for this long has none: the connection is closed and made anew. */
const SILENCE_MS = 10_000;
const MAX_BACKOFF_MS = 5_000;

/**
 * A connection to Redis that is made again whenever it is lost.
 *
 * A command fails at once while there is no connection, and if the connection is lost before the answer: nothing waits in a
 * queue to be sent later, when it may be wrong.
 */
export class RedisConnection {
  readonly client: Redis;
  readonly address: RedisAddress;
  #isClosed = false;
  #isLost = false;
  #reason = '';

  private constructor(client: Redis, address: RedisAddress) {
    this.client = client;
    this.address = address;
    // Without a listener, ioredis prints each error. It reports every attempt; the reason is that of the last.
    client.on('error', (error: unknown) => (this.#reason = this.#safe(messageOf(error))));
  }

  /** @throws {UwfError} `queue-unreachable` if there is no connection at the first try */
  static async open({ ioredis }: QueuePackages, address: RedisAddress, part: string): Promise<RedisConnection> {
    const connection = new RedisConnection(new ioredis.Redis(optionsFor(address, part)), address);
    try {
      await connection.client.connect();
    } catch (error) {
      connection.close();
      throw connection.unreachable(error);
    }
    return connection;
  }

  /** Has one line told when the connection is lost, and one when it is back. */
  tellOf(onTrouble: (text: string) => void): void {
    this.client.on('close', () => {
      if (this.#isLost || this.#isClosed) return;
      this.#isLost = true;
      onTrouble(`${this.address.name} is lost${this.#reason === '' ? '' : `: ${this.#reason}`}; trying again`);
    });
    this.client.on('ready', () => {
      if (this.#isLost) onTrouble(`${this.address.name} is back`);
      this.#isLost = false;
      this.#reason = '';
    });
  }

  get isReady(): boolean {
    // Between the end of the connection and its `close` the status still is `ready`.
    return this.client.status === 'ready' && this.client.stream.writable;
  }

  /** Resolves when there is a connection, or when the signal aborts. */
  async untilReady(signal: AbortSignal): Promise<void> {
    if (this.isReady || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.client.off('ready', end);
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.client.on('ready', end);
      signal.addEventListener('abort', end);
    });
  }

  /**
   * What to throw to a caller. The error of ioredis is not its cause: it has the words of the command, those of a login too.
   */
  unreachable(error: unknown): UwfError {
    const { isReady } = this;
    const reason = isReady || this.#reason === '' ? this.#safe(messageOf(error)) : this.#reason;
    return new (isReady ? UwfError : QueueLost)(`${this.address.name} does not take the command: ${reason}`, {
      code: 'queue-unreachable',
      kind: 'environment',
      hint: remedyFor(reason) ?? 'check that the server runs, and the host, port, user and password of the URL',
    });
  }

  close(): void {
    this.#isClosed = true;
    this.client.disconnect();
  }

  #safe(text: string): string {
    const { password } = this.address;
    return password === undefined
      ? text
      : text.replaceAll(password, '***').replaceAll(encodeURIComponent(password), '***');
  }
}

/** What can be done about words of the server that a user may not know; `undefined` for others. */
export function remedyFor(reason: string): string | undefined {
  if (reason.startsWith('OOM ')) return 'the server is full: raise its maxmemory, or have it keep less';
  if (/^(?:NOAUTH|WRONGPASS|NOPERM) /.test(reason))
    return 'check the user and password of the URL; a worker with another URL has to be started again';
  return undefined;
}

function optionsFor(
  { host, port, username, password, database, isTls }: RedisAddress,
  part: string,
): Omit<RedisOptions, 'replyMapping'> {
  return {
    host,
    port,
    username,
    password,
    db: database,
    ...(isTls && { tls: {} }),
    connectionName: `uwf-${part}`,
    lazyConnect: true,
    enableOfflineQueue: false,
    // With `autoResendUnfulfilledCommands: false` instead, a command whose answer is lost stays pending for ever.
    maxRetriesPerRequest: 0,
    socketTimeout: SILENCE_MS,
    retryStrategy: (times) => Math.min(100 * 2 ** Math.min(times, 10), MAX_BACKOFF_MS) * (0.5 + Math.random() / 2),
    // A replica that was the primary before: a new connection finds the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}
