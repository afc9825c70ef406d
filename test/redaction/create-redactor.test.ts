import { expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { markOf } from '../../src/redaction/redactor.ts';

const key = Buffer.alloc(32, 7);
const secret = 'c0rrect-h0rse-battery';
const redactor = createRedactor({ key, known: [secret, 'short'] });

test('a known value leaves its mark', () => {
  const { text, hits } = redactor.redactText(`a ${secret} and short`);
  expect(text).toBe(`a ${markOf('known', secret, key)} and short`);
  expect(hits).toEqual([{ rule: 'known', start: 2, end: 2 + secret.length }]);
});

test('strings and keys of a value are redacted, but for what is kept', () => {
  const mark = markOf('known', secret, key);
  expect(redactor.redactValue({ [secret]: [secret, 1] })).toEqual({ value: { [mark]: [mark, 1] }, hits: 2 });
  expect(redactor.redactValue([secret], new Set([secret]))).toEqual({ value: [secret], hits: 0 });
});

test('a stream gives what the whole gives', () => {
  const stream = redactor.openStream();
  const [text, cut] = [`a ${secret} b`, 9];
  expect(stream.write(text.slice(0, cut)) + stream.write(text.slice(cut)) + stream.end()).toBe(
    redactor.redactText(text).text,
  );
  expect(stream.hits).toBe(1);
});
