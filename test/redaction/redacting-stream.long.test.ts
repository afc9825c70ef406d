import fc from 'fast-check';
import { expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import type { Redactor } from '../../src/redaction/redactor.ts';
import { contexts, kinds, Letters } from './kinds.ts';
import { commands, keyLines, prefixes } from './trial/commands.ts';
import { contexts as others } from './trial/contexts.ts';
import { notations } from './trial/passwords.ts';

const key = Buffer.alloc(32, 7);
const letters = new Letters(3);
const known = [
  letters.alnum(20),
  `${letters.alnum(5)} "${letters.alnum(9)}\\ ${letters.base64(8)}`,
  `${letters.alnum(30)}\n${letters.alnum(30)}`,
];
const redactor = createRedactor({ key, known });

const pem = (lines: number, newline: string, end = `${newline}-----END RSA PRIVATE KEY-----`): string =>
  `-----BEGIN RSA PRIVATE KEY-----${newline}${Array.from({ length: lines }, () => letters.base64(64)).join(newline)}${newline}${letters.base64(22)}==${end}`;

/** Parts of texts: secrets, halves of them, and what is around them. */
const part: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...kinds), fc.constantFrom(...Object.values(contexts)), fc.nat(1000))
    .map(([kind, context, seed]) => context(kind.make(new Letters(seed + 1)), kind.name ?? 'value')),
  fc
    .tuple(fc.constantFrom(...kinds), fc.nat(1000), fc.nat(60))
    .map(([kind, seed, cut]) => kind.make(new Letters(seed + 1)).slice(0, cut)),
  fc.constantFrom(
    ...known,
    ...known.map((value) => Buffer.from(`${value}.`).toString('base64')),
    ...known.map(encodeURIComponent),
  ),
  fc.constantFrom(
    ...known.map((value) => JSON.stringify(JSON.stringify(value))),
    ...known.map((value) => value.slice(0, 9)),
  ),
  fc.constantFrom(
    ...known.map((value) =>
      Buffer.from('ab'.repeat(30) + value.repeat(2))
        .toString('base64')
        .replaceAll(/.{76}/g, '$&\n'),
    ),
  ),
  fc.constantFrom(pem(3, '\n'), pem(8, '\\n'), pem(2, '\n', ''), '-----BEGIN PRIVATE KEY-----', pem(1, '\r\n')),
  fc.constantFrom(
    encodeURIComponent(pem(2, '\n')),
    Buffer.from(pem(3, '\n')).toString('base64'),
    Buffer.from(pem(3, '\n').replaceAll('PRIVATE KEY', 'CERTIFICATE')).toString('base64'),
    pem(3, '\n').replace(/-----BEGIN.*/, 'Private-Lines: 3'),
    'Private-Lines: 3',
    'LS0tLS1CRUdJTi',
  ),
  fc.constantFrom(
    '‹redacted:known:0123abcd›',
    '‹redacted:npm-token:01',
    '‹',
    '›',
    'token',
    'secret=',
    ': "',
    '\\n',
    '%2',
    '://',
    '😀',
    '-',
  ),
  fc.constantFrom(' ', '\n', 'some words ', '"', "'", '\t', 'password: ', 'Authorization: Bearer '),
  fc.constantFrom(letters.base64(5000), `${letters.alnum(4100)}.ghp_${letters.alnum(36)}.`),
);
const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));

function inPieces(redactor: Redactor, text: string, sizeAt: (at: number) => number): { text: string; hits: number } {
  const stream = redactor.openStream();
  let given = '';
  for (let at = 0; at < text.length;) {
    const size = Math.max(1, sizeAt(at));
    given += stream.write(text.slice(at, at + size));
    at += size;
  }
  given += stream.end();
  return { text: given, hits: stream.hits };
}

function assertSame(redactor: Redactor, text: string, sizeAt: (at: number) => number): void {
  const { text: whole, hits } = redactor.redactText(text);
  expect(inPieces(redactor, text, sizeAt)).toEqual({ text: whole, hits: hits.length });
}

test('a stream gives what the whole gives, however it is cut', () => {
  fc.assert(
    fc.property(
      text,
      fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3000 }))),
      (text, sizes) => {
        assertSame(redactor, text, () => sizes.next().value);
      },
    ),
    { numRuns: 300, seed: 12 },
  );
});

test('a text in two pieces gives what the whole gives, at every cut', () => {
  for (const [seed, { make, name }] of kinds.entries()) {
    const secret = make(new Letters(seed + 1));
    const whole = `a ${name ?? 'value'}="${secret}"; ${known[seed % 3]}\n`;
    for (let cut = 1; cut < whole.length; cut++) assertSame(redactor, whole, (at) => (at === 0 ? cut : whole.length));
  }
});

test('JSON that is spaced anew, secrets that are cut, passwords, cookies and keys with prefixes, in two pieces, at every cut', () => {
  const secret = letters.alnum(32);
  const json = { type: 'account', key_id: letters.hex(12), keys: [letters.alnum(20), 7, null] };
  const knowing = createRedactor({ key, known: [...known, JSON.stringify(json)] });
  const texts = [
    ...[1, 2, '\t'].map((indent) => `${JSON.stringify(json, undefined, indent)}\n`),
    `${JSON.stringify({ text: JSON.stringify(json, undefined, 2) })}\n`,
    `{ "type" : "account",\r\n"key_id": "${json.key_id}" , "keys":["${json.keys[0]}", 7,null ] } and more\n`,
    ...Object.values(others).flatMap((each) => Object.values(each).map((put) => put(secret, 'ACME_TOKEN'))),
    ...Object.values(notations).map((put) => put('Winter42!x', 'DB_PASSWORD')),
    ...[...commands.first, ...commands.second].map((form) => `${form(secret)}\n`),
    ...[...prefixes.first, ...prefixes.second].flatMap((prefix) => {
      const lines = keyLines('EC PRIVATE KEY', letters, 3).map((line, n) => prefix(line, n + 1));
      return [lines, lines.slice(2)].map((shown) => `before\n${shown.join('\n')}\nbehind\n`);
    }),
  ];
  for (const whole of texts) {
    expect(knowing.redactText(whole).hits, whole).not.toEqual([]);
    for (let cut = 1; cut < whole.length; cut++) assertSame(knowing, whole, (at) => (at === 0 ? cut : whole.length));
  }
});

test.each(['\n', '\r\n', '\n   '])('a known value in lines, in two pieces, at every cut (%j)', (newline) => {
  for (const encoding of ['base64', 'hex'] as const) {
    const bytes = Buffer.from(`some words ${known[0]} and some more words behind it`);
    const inLines = bytes.toString(encoding).replaceAll(/.{32}/g, `$&${newline}`);
    const whole = `one ${inLines} two`;
    expect(redactor.redactText(whole).hits).toHaveLength(1);
    for (let cut = 1; cut < whole.length; cut++) assertSame(redactor, whole, (at) => (at === 0 ? cut : whole.length));
  }
});

test('own rules give in a stream what they give in the whole', () => {
  const own = createRedactor({
    key,
    known,
    rules: [
      { name: 'acme', pattern: 'a[^ ]{2,9} .?b' },
      { name: 'card', pattern: '\\bcard \\d+$' },
    ],
  });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(part, fc.constantFrom('card 12', 'acme  b', '\n', 'a123 b')), { maxLength: 10 }),
      fc.integer({ min: 1, max: 700 }),
      (parts, size) => {
        assertSame(own, parts.join(''), () => size);
      },
    ),
    { numRuns: 150, seed: 5 },
  );
});

test.each(['\n', '\\n'])('a block that is longer than what is held back is replaced to its end (%j)', (newline) => {
  for (const end of [`${newline}-----END RSA PRIVATE KEY----- and ghp_${letters.alnum(36)} x`, ' ! and more']) {
    const whole = `key: ${pem(1300, newline, end)}`;
    for (const size of [64, 1000, 5000]) assertSame(redactor, whole, () => size);
    expect(redactor.redactText(whole).text.length).toBeLessThan(120);
  }
});

test('no more than an open match is held back', () => {
  const stream = redactor.openStream();
  expect(stream.write('Some words, and the next')).toBe('Some words, and the ');
  expect(stream.write(' one.\n')).toBe('next one.\n');
  let held = 0;
  for (let written = 0; written < 100_000; written += 500) held += 500 - stream.write(letters.base64(500)).length;
  expect(held).toBeLessThanOrEqual(4096 + 500);
  let block = 0;
  stream.write('\n-----BEGIN PRIVATE KEY-----\n');
  for (let line = 0; line < 3000; line++) block += stream.write(`${letters.base64(64)}\n`).length;
  expect(block).toBeLessThan(5000);
  expect(stream.write('-----END PRIVATE KEY-----\nover ')).toBe('\nover ');
});

test('what was redacted is not redacted again', () => {
  fc.assert(
    fc.property(text, (text) => {
      const once = redactor.redactText(text).text;
      expect(redactor.redactText(once)).toEqual({ text: once, hits: [] });
    }),
    { numRuns: 300, seed: 9 },
  );
});
