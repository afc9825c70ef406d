import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { UwfError } from '../../../src/errors.ts';
import { isRedisUrl, parseRedisUrl } from '../../../src/worker/bullmq/redis-connection.ts';

test.each([
  ['redis://localhost', { host: 'localhost', port: 6379, database: 0, isTls: false, prefix: 'uwf' }],
  ['rediss://cache.example:6380/7', { host: 'cache.example', port: 6380, database: 7, isTls: true }],
  ['redis://:p%40ss%2F@h', { host: 'h', username: undefined, password: 'p@ss/' }],
  ['redis://me:secret@[::1]:1/', { host: '::1', port: 1, username: 'me', password: 'secret', database: 0 }],
  ['REDIS://h?prefix={team}.a', { host: 'h', prefix: '{team}.a' }],
])('reads %s', (url, expected) => {
  expect(isRedisUrl(url)).toBe(true);
  expect(parseRedisUrl(url)).toMatchObject(expected);
});

test.each([
  'redis://u:hidden@',
  'redis://u:hidden@h:port',
  'redis://u:hidden@h/db',
  'redis://u:hidden@h?keyPrefix=x',
  'redis://u:hidden@h?prefix=a:b',
  'redis://u:hidden%@h',
  'http://u:hidden@h',
])('refuses %s and does not repeat it', (url) => {
  const fault = faultOf(() => parseRedisUrl(url));
  expect(fault.code).toBe('invalid-queue-url');
  expect(inspect(fault, { depth: Infinity })).not.toContain('hidden');
});

test('the name that people see has neither user nor password', () => {
  expect(parseRedisUrl('rediss://me:hidden@cache.example/1').name).toBe('Redis at cache.example:6379');
});

function faultOf(call: () => unknown): UwfError {
  try {
    call();
  } catch (error) {
    if (error instanceof UwfError) return error;
  }
  throw new Error('it was not refused');
}
