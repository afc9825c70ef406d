import { describe, expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { isRedactable } from '../../src/redaction/known-values.ts';
import { markOf } from '../../src/redaction/redactor.ts';
import { Letters } from './kinds.ts';

const key = Buffer.alloc(32, 7);

const hexOf = (code: number, length: number): string => code.toString(16).padStart(length, '0');
const inPercent = (value: string): string => [...Buffer.from(value)].map((byte) => `%${hexOf(byte, 2)}`).join('');
const inBase64 = (before: number, encoding: 'base64' | 'base64url') => (value: string) =>
  Buffer.from('x'.repeat(before) + value + 'y'.repeat(7)).toString(encoding);

/** What a value is turned into on its way into a text. */
const encodings: Record<string, (value: string) => string> = {
  plain: (value) => value,
  base64: (value) => Buffer.from(value).toString('base64'),
  'base64 without padding': (value) => Buffer.from(value).toString('base64').replace(/=+$/u, ''),
  'longer base64, at the first place': inBase64(0, 'base64'),
  'longer base64, at the second place': inBase64(1, 'base64'),
  'longer base64, at the third place': inBase64(2, 'base64'),
  'longer base64url': inBase64(10, 'base64url'),
  'base64 in lines': (value) =>
    Buffer.from('a'.repeat(50) + value + 'b'.repeat(50))
      .toString('base64')
      .replaceAll(/.{76}/g, '$&\n'),
  'base64 in short lines in JSON': (value) =>
    JSON.stringify(Buffer.from(value).toString('base64').replaceAll(/.{10}/g, '$&\r\n')),
  'base64 in a URL': (value) => encodeURIComponent(Buffer.from(value).toString('base64')),
  'a part of a URL': encodeURIComponent,
  'a form': (value) => new URLSearchParams({ value }).toString().slice('value='.length),
  'percents alone': inPercent,
  'percents alone, in capitals': (value) => inPercent(value).toUpperCase(),
  'some percents': (value) =>
    [...value].map((sign) => (/[aeiou0-4]/.test(sign) ? inPercent(sign) : encodeURIComponent(sign))).join(''),
  'percents twice': (value) => encodeURIComponent(encodeURIComponent(value)),
  JSON: (value) => JSON.stringify(value).slice(1, -1),
  'JSON with escaped slashes': (value) => JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
  'JSON in JSON': (value) => JSON.stringify(JSON.stringify(value)),
  'code units': (value) =>
    value
      .split('')
      .map((unit) => `\\u${hexOf(unit.charCodeAt(0), 4)}`)
      .join(''),
  'code units in JSON': (value) =>
    JSON.stringify(
      value
        .split('')
        .map((unit) => `\\u${hexOf(unit.charCodeAt(0), 4)}`)
        .join(''),
    ),
  'some code units': (value) =>
    value
      .split('')
      .map((unit) =>
        /[b-z]/.test(unit) ? `\\u${hexOf(unit.charCodeAt(0), 4).toUpperCase()}` : JSON.stringify(unit).slice(1, -1),
      )
      .join(''),
  hexadecimal: (value) => Buffer.from(value).toString('hex'),
  'JSON in base64': (value) => Buffer.from(JSON.stringify({ token: value })).toString('base64'),
  'a form in base64': (value) => Buffer.from(`user=me&token=${encodeURIComponent(value)}`).toString('base64'),
  'JSON in base64 in lines of Windows': (value) =>
    Buffer.from(JSON.stringify({ token: value }))
      .toString('base64')
      .replaceAll(/.{64}/g, '$&\r\n'),
};

const letters = new Letters(1);
const values: Record<string, string> = {
  'letters and digits': letters.alnum(20),
  'base64 with its signs': `${letters.base64(40)}+/==`,
  'twelve characters': letters.alnum(12),
  'signs that are escaped': `${letters.alnum(5)}"\\/&=?%+#${letters.alnum(5)}'<>`,
  blanks: `${letters.alnum(6)} ${letters.alnum(4)} ${letters.alnum(6)}`,
  lines: `${letters.alnum(30)}\n${letters.alnum(30)}\n`,
  'letters beyond ASCII': `pä$$wörd-ünïcøde-${letters.alnum(4)}-🔑🔒`,
  'a long value': letters.base64(3000),
};

describe.each(Object.entries(values))('a value of %s', (_, value) => {
  const redactor = createRedactor({ key, known: [letters.alnum(30), value, letters.alnum(16)] });

  test.each(Object.entries(encodings))('is taken out of a text as %s', (_, encode) => {
    for (const [before, behind] of [
      ['', ''],
      ['see: ', ' and so on'],
      ['{"a":"', '"}'],
      ['?k=', '&l=1'],
    ]) {
      const { text, hits } = redactor.redactText(before + encode(value) + behind);
      expect(hits.length).toBeGreaterThan(0);
      expect(hits.every(({ rule }) => rule === 'known')).toBe(true);
      // A few characters may stay at its edges, which it shares with what is beside it in base64.
      const rest = text.replaceAll(/‹redacted:known:[0-9a-f]{8}›/g, '');
      const decoded = [text, Buffer.from(rest, 'base64').toString(), Buffer.from(rest, 'base64url').toString()].join(
        '\n',
      );
      for (let at = 0; at + 8 <= value.length; at += 4) expect(decoded).not.toContain(value.slice(at, at + 8));
    }
  });
});

test('a value has one mark in all of its encodings', () => {
  const value = values['letters and digits'] ?? '';
  const redactor = createRedactor({ key, known: [value] });
  const mark = markOf('known', value, key);
  for (const encode of [
    encodings['plain'],
    encodings['base64'],
    encodings['percents alone'],
    encodings['code units'],
  ]) {
    expect(redactor.redactText(encode?.(value) ?? '').text).toBe(mark);
  }
});

test('what is short, a word, a path or a number is not taken out', () => {
  const none = [
    '',
    'short',
    'elevenchars',
    'development',
    'administrator',
    '123456789012345',
    '2026-11-22T10:00:00',
    '/usr/local/bin/node',
  ];
  const more = [
    'correct horse',
    'Content-Security-Policy',
    'C:\\Users\\me\\file',
    './node_modules/.bin',
    '            a',
    'order'.repeat(20_000),
  ];
  for (const value of [...none, ...more]) expect(isRedactable(value), value.slice(0, 40)).toBe(false);
  for (const value of ['c0rrect-h0rse', 'aB3dE6gH9jK2', 'pass w0rd and more', 'QzWxEcRvTbYnUm', '/x9Zq+81/AbcD==']) {
    expect(isRedactable(value), value).toBe(true);
  }
});

test('a value that is JSON is found however it is spaced, and nothing else of its text is', () => {
  const json = { type: 'account', id: letters.hex(8), keys: [letters.alnum(20), 7, null] };
  for (const given of [JSON.stringify(json), JSON.stringify(json, undefined, 4)]) {
    const knowing = createRedactor({ key, known: [given] });
    const spaced = `{ "type" : "account",\r\n"id":"${json.id}" , "keys":[ "${json.keys[0]}",7, null]\n}`;
    for (const shown of [...[undefined, 1, 2, '\t'].map((indent) => JSON.stringify(json, undefined, indent)), spaced]) {
      expect(knowing.redactText(`a ${shown} b`).text).toMatch(/^a ‹redacted:known:[0-9a-f]{8}› b$/u);
      expect(knowing.redactText(JSON.stringify([shown])).text).not.toContain(json.keys[0]);
    }
  }
});
