import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as bullmq from 'bullmq';
import type * as ioredis from 'ioredis';
import type { Redis, RedisOptions } from 'ioredis';
import { findPackage } from '../../agent/load/find-package.ts';
import { satisfiesRange } from '../../agent/version-range.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { QueueLost, type TellTrouble } from '../turn-queue.ts';

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
  tellOf(onTrouble: TellTrouble): void {
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

  /** What to throw to a caller. The error of ioredis is not its cause: it has the words of the command, those of a login too. */
  unreachable(error: unknown): UwfError {
    const { isReady } = this;
    const reason = isReady || this.#reason === '' ? this.#safe(messageOf(error)) : this.#reason;
    return new (isReady ? UwfError : QueueLost)(`${this.address.name} does not take the command: ${reason}`, {
      code: 'queue-unreachable',
      kind: 'environment',
      hint: remedyFor(reason) ?? 'check that the server runs, and the host, port, user and password of the URL',
    });
  }

  /** An error of the server's answer, with what can be done about it. */
  faultOf(error: unknown): UwfError {
    const reason = this.#safe(messageOf(error));
    const hint = remedyFor(reason);
    return new UwfError(`${this.address.name}: ${reason}`, { code: 'queue-fault', kind: 'environment', hint });
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
function remedyFor(reason: string): string | undefined {
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

/** Where a Redis server is, and how to log in there. It holds the password: show `name` instead. */
type RedisAddress = {
  host: string;
  port: number;
  username: string | undefined;
  password: string | undefined;
  /** The number of the database. */
  database: number;
  isTls: boolean;
  /** What all keys of uwf begin with there. */
  prefix: string;
  /** For people: host and port, no user and no password. */
  name: string;
};

const DEFAULT_PREFIX = 'uwf';

/** Tells whether a URL names a Redis server: `redis:`, or `rediss:` for TLS. */
export function isRedisUrl(url: string): boolean {
  return /^rediss?:/i.test(url);
}

/** Parses `redis[s]://[[user]:password@]host[:port][/database][?prefix=name]`. No error contains it: there may be a password. */
export function parseRedisUrl(text: string): RedisAddress {
  if (!isRedisUrl(text)) throw invalid("it does not begin with 'redis://' or 'rediss://'");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === '') throw invalid('it is no URL with a host');
  for (const key of url.searchParams.keys()) {
    if (key !== 'prefix') throw invalid("of parameters it takes only 'prefix'");
  }
  const database = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  if (database === undefined) throw invalid('its path is not the number of a database');
  const prefix = url.searchParams.get('prefix') ?? DEFAULT_PREFIX;
  if (!/^[\w.{}-]{1,64}$/.test(prefix))
    throw invalid("'prefix' is 1 to 64 letters, digits, '.', '_', '-', '{' and '}'");
  const port = url.port === '' ? 6379 : Number(url.port);
  return {
    host: url.hostname.replaceAll(/^\[|\]$/g, ''),
    port,
    username: decoded(url.username),
    password: decoded(url.password),
    database: Number(database),
    isTls: url.protocol === 'rediss:',
    prefix,
    name: `Redis at ${url.hostname}:${port}`,
  };
}

function decoded(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid("its user or password has a '%' that is not written as '%25'");
  }
}

function invalid(why: string): UwfError {
  return new UwfError(`the URL of the queue is not one of Redis: ${why}`, {
    code: 'invalid-queue-url',
    kind: 'usage',
    hint: 'write redis://[user:password@]host[:port][/database][?prefix=name], with rediss:// for TLS',
  });
}

/** The packages that only a queue on Redis needs. uwf has them as optional peers, so they are not installed with it. */
export type QueuePackages = { bullmq: typeof bullmq; ioredis: typeof ioredis };

/** The versions that the tests pass with; the same as under `peerDependencies` of package.json. */
export const RANGES = { bullmq: '^6.7.0', ioredis: '^5.9.0 || ^6.0.0' };

const INSTALL =
  "install both beside uwf: 'npm install -g bullmq@6 ioredis@6', without '-g' where uwf is a package of a project";

/**
 * Loads BullMQ and ioredis from the `node_modules` of uwf or above.
 *
 * Both are checked before either runs: without ioredis a worker of BullMQ tries to connect in a loop that never pauses.
 * @param from the folder to begin with; its code runs
 * @throws {UwfError} `queue-package-missing` or `queue-package-version`, with what to install
 */
export async function loadQueuePackages(from: string = packageRoot()): Promise<QueuePackages> {
  const places = { bullmq: await findIn(from, 'bullmq'), ioredis: await findIn(from, 'ioredis') };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the versions are those whose declarations were compiled with.
  return { bullmq: load('bullmq', places.bullmq), ioredis: load('ioredis', places.ioredis) } as QueuePackages;
}

async function findIn(from: string, name: keyof typeof RANGES): Promise<string> {
  const found = findPackage(name, from);
  if (found && (await satisfiesRange(found.version, RANGES[name]))) return found.folder;
  const fault = found ? `'${name}' is ${found.version}, not ${RANGES[name]}` : `'${name}' is not installed`;
  throw new UwfError(`a queue on Redis needs the npm packages 'bullmq' and 'ioredis': ${fault}`, {
    code: found ? 'queue-package-version' : 'queue-package-missing',
    kind: 'environment',
    hint: INSTALL,
    facts: { package: name, range: RANGES[name] },
  });
}

function load(name: string, folder: string): unknown {
  try {
    return createRequire(join(folder, 'package.json'))(folder);
  } catch (error) {
    throw new UwfError(`'${name}' in ${folder} cannot be loaded: ${messageOf(error)}`, {
      code: 'queue-package-missing',
      kind: 'environment',
      hint: INSTALL,
    });
  }
}
