import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';

import { readRedact } from '../../src/engine/config/config-schema.ts';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { allowHashOf } from '../../src/redaction/finder.ts';
import { createRedactor } from '../../src/redaction/create-redactor.ts';
import type { JsonValue } from '../../src/json.ts';
import { markOf } from '../../src/redaction/redactor.ts';
import { Letters } from './kinds.ts';

const key = Buffer.alloc(32, 7);
const secret = 'c0rrect-h0rse-battery';
const mark = markOf('known', secret, key);
const redactor = createRedactor({ key, known: [secret, 'short'] });
const token = `ghp_${new Letters(5).alnum(36)}`;

test('a known value leaves its mark', () => {
  const { text, hits } = redactor.redactText(`a ${secret} and short`);
  expect(text).toBe(`a ${mark} and short`);
  expect(hits).toEqual([{ rule: 'known', start: 2, end: 2 + secret.length }]);
});

test('strings and keys of a value are redacted, but for what is kept', () => {
  expect(redactor.redactValue({ [secret]: [secret, 1, null, true] })).toEqual({
    value: { [mark]: [mark, 1, null, true] },
    hits: 2,
  });
  expect(redactor.redactValue([secret, { [secret]: 1 }], new Set([secret]))).toEqual({
    value: [secret, { [secret]: 1 }],
    hits: 0,
  });
});

test('a value keeps its form: the order of keys, equal keys, __proto__', () => {
  const escaped = secret.replace('c', '%63');
  const given = `{"b":1,"__proto__":{"a":"x"},"${secret}":1,"${escaped}":2,"a":[]}`;
  // It is JSON.
  const { value, hits } = redactor.redactValue(JSON.parse(given) as JsonValue);
  expect(JSON.stringify(value)).toBe(`{"b":1,"__proto__":{"a":"x"},"${mark}":1,"${mark} 2":2,"a":[]}`);
  expect(hits).toBe(2);
});

test('a value that is deep or wide is redacted to its end', () => {
  let deep: JsonValue = secret;
  for (let depth = 0; depth < 20_000; depth++) deep = depth % 2 === 0 ? [deep] : { a: deep };
  expect(redactor.redactValue(deep).hits).toBe(1);
  expect(redactor.redactValue(Array.from({ length: 50_000 }, () => secret)).hits).toBe(50_000);
});

test('the name of a value counts, as it does in a text', () => {
  const random = new Letters(6).alnum(32);
  const values: JsonValue[] = [
    { api_token: random },
    { env: [{ name: 'API_TOKEN', value: random }] },
    { tokens: [random] },
  ];
  for (const value of values) expect(redactor.redactValue(value).hits, JSON.stringify(value)).toBe(1);
  expect(redactor.redactValue({ title: random, DD_API_KEY: new Letters(6).hex(32) }).hits).toBe(1);
});

test('own rules find what their pattern says, and are told by their name', () => {
  const own = createRedactor({ key, known: [], rules: [{ name: 'acme-token', pattern: 'acme-\\d{6}' }] });
  expect(own.redactText('an acme-123456!').text).toBe(`an ${markOf('acme-token', 'acme-123456', key)}!`);
  expect(own.redactText('x'.repeat(10_000) + 'acme-123456').hits).toHaveLength(1);
});

test('an own rule that never ends is stopped, and nothing of the text is given', () => {
  const own = createRedactor({ key, known: [], rules: [{ name: 'acme', pattern: '(a+)+$' }] });
  expect(() => own.redactText(`${'a'.repeat(60)}!`)).toThrow(expect.objectContaining({ code: 'redaction-failed' }));
});

test('a value stays that is allowed by the hash that a shell makes of it, as the docs say', () => {
  const docs = readFileSync(join(packageRoot(), 'docs', 'configuration.md'), 'utf8');
  const [, making = ''] = /^(echo "\$salt:.*)$/mu.exec(docs) ?? [];
  const env = { ...process.env, salt: '0123456789abcdef', value: token };
  const hash = execFileSync('sh', ['-c', making], { env, encoding: 'utf8' }).trim();
  expect(readRedact({ allow: [{ hash }] })).toEqual({ isOff: false, rules: [], allow: [{ hash }] });
  expect(createRedactor({ key, known: [], allow: [{ hash }] }).redactText(token).hits).toEqual([]);
});

test('what is allowed stays: a rule in files of a path, and a value by its hash', () => {
  const allowing = createRedactor({ key, known: [], allow: [{ rule: 'github-token', path: 'test/**/*.ts' }] });
  for (const path of ['test/a.ts', 'test/deep/er/a.ts']) expect(allowing.redactText(token, path).hits).toEqual([]);
  for (const path of ['src/a.ts', 'test/a.js', undefined])
    expect(allowing.redactText(token, path).hits).toHaveLength(1);
  const hash = allowHashOf(token);
  expect(hash).not.toContain(token);
  expect(allowHashOf(token)).not.toBe(hash);
  const byHash = createRedactor({ key, known: [], allow: [{ hash }] });
  expect(byHash.redactText(token)).toEqual({ text: token, hits: [] });
  expect(
    byHash.redactText(`${token.slice(0, -1)}_`).hits.length +
      byHash.redactText(`ghp_${new Letters(8).alnum(36)}`).hits.length,
  ).toBe(1);
});

test('text that takes too long is not given', () => {
  let seconds = 0;
  const clock = vi.spyOn(process, 'hrtime').mockImplementation(() => [(seconds += 10), 0]);
  const work = vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 1e9, system: 0 });
  try {
    expect(() => redactor.redactText('token '.repeat(2000))).toThrow(
      expect.objectContaining({ code: 'redaction-failed' }),
    );
    // Waiting for a processor that others use does not count.
    work.mockReturnValue({ user: 0, system: 0 });
    expect(redactor.redactText('token '.repeat(2000)).hits).toEqual([]);
  } finally {
    clock.mockRestore();
    work.mockRestore();
  }
});

test('text that is made to take long ends', () => {
  const parts = [
    'eyJ',
    'eyJaaaa.',
    'token=',
    'postgres://a:',
    '://a:b',
    'password=',
    '-----BEGIN PRIVATE KEY-----\n',
    '\\',
    '%25',
    '‹redacted:known:01234567› a1',
  ];
  // A machine that is slow enough uses up the time that a text has: here it only has to end.
  const work = vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 0, system: 0 });
  try {
    for (const part of parts) expect(redactor.redactText(part.repeat(60_000 / part.length)).hits).toEqual([]);
  } finally {
    work.mockRestore();
  }
});
