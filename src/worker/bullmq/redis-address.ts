import { UwfError } from '../../errors.ts';

/** Where a Redis server is, and how to log in there. It holds the password: show `name` instead. */
export type RedisAddress = {
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

/**
 * Parses `redis[s]://[[user]:password@]host[:port][/database][?prefix=name]`.
 *
 * No error contains the URL, because it may contain a password.
 * @throws {UwfError} `invalid-queue-url`
 */
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
