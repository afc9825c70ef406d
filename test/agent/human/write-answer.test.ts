import { expect, test } from 'vitest';
import { readTypedAnswer, writeAnswer } from '../../../src/agent/human/answer-reply.ts';
import type { JsonObject } from '../../../src/json.ts';

const review: JsonObject = { properties: { $status: { enum: ['approved', 'rejected'] } }, required: ['$status'] };
const form: JsonObject = { properties: { name: { type: 'string' }, count: { type: 'integer' } }, required: ['name'] };
const done: JsonObject = { properties: { $status: { const: 'done' } }, required: ['$status'] };

test.each<[string, JsonObject, { text: string; meta?: JsonObject }, string]>([
  ['a word alone', review, { text: '', meta: { $status: 'approved' } }, 'approved'],
  ['a word and a text below it', review, { text: 'Too long.', meta: { $status: 'rejected' } }, 'rejected\n\nToo long.'],
  ['a text alone', done, { text: 'It is.', meta: { $status: 'done' } }, 'It is.'],
  ['fields', form, { text: '', meta: { name: 'a: b', count: 2 } }, '---\nname: "a: b"\ncount: 2\n---\n'],
  [
    'fields beside a word',
    review,
    { text: 'x', meta: { $status: 'approved', more: [1] } },
    '---\n$status: approved\nmore: [1]\n---\n\nx',
  ],
  ['what has its fields in the text', form, { text: '---\nname: x\n---\n' }, '---\nname: x\n---\n'],
])('an answer is written as %s', (_, schema, reply, answer) => {
  expect(writeAnswer(reply, schema)).toBe(answer);
  if (!answer.startsWith('---')) expect(readTypedAnswer(answer, schema)).toEqual({ ...reply, isWhole: true });
});
