import { describe, expect, test } from 'vitest';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { tallyOfStart, totalsOf } from '../../src/thread/thread-state.ts';
import { parseNodeHash } from '../../src/cas/hash.ts';
import type { UwfError } from '../../src/errors.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import { builtIn, payloadOf, type Payloads, type TypeName, UnexpectedNode } from '../../src/schema/built-in.ts';

const hash = parseNodeHash('EYHPV6X8XHTCS');
const totals = totalsOf(tallyOfStart(parseObjectId('1'.repeat(40))));
const end = {
  totals,
  outcome: 'completed',
  returnCode: 0,
  summary: hash,
  start: hash,
  lastStep: null,
  completedAtMs: 1,
};
const attempt = { content: hash, errors: ['a'], usage: null };
const usage = { inputTokens: 1, outputTokens: 1, turns: 1 };
const artifact = { kind: 'blob', oid: '1'.repeat(40), title: 'x' };
const step = {
  totals,
  number: 1,
  role: 'a',
  meta: {},
  content: hash,
  react: null,
  start: hash,
  previous: null,
  ancestors: [],
  compact: null,
  childThreads: [],
  agent: hash,
  prompt: hash,
  rule: null,
  attempts: [],
  usage: null,
  startedAtMs: 1,
  completedAtMs: 1,
};
const suspend = {
  totals,
  role: 'a',
  reason: 'a',
  cause: 'agent',
  start: hash,
  previous: null,
  content: null,
  react: null,
  attempts: [],
  agent: hash,
  prompt: hash,
  rule: null,
  usage: null,
  suspendedAtMs: 1,
};
const start = {
  format: 1,
  id: '01KTWEWZ760000000000000000',
  workflow: hash,
  prompt: hash,
  agents: {},
  depth: 0,
  parentThread: null,
  parentState: null,
  parentRole: null,
  startedAtMs: 1,
};

function read(name: keyof Payloads, payload: JsonObject): unknown {
  return payloadOf({ type: builtIn[name], payload }, name);
}

describe('the payload of a node', () => {
  test.each<[keyof Payloads, JsonObject]>([
    ['thread-end', end],
    ['thread-end', { ...end, lastStep: hash, completedAtMs: 8.64e15 }],
    ['attempt', attempt],
    ['attempt', { ...attempt, errors: [], usage }],
    ['attempt', { ...attempt, usage: { ...usage, costUsd: 0.5 } }],
    ['attempt', { ...attempt, usage: { ...usage, isAtLeast: true } }],
    ['thread-step', step],
    ['thread-suspend', { ...suspend, due: 8.64e15 }],
    ['thread-start', start],
    ['artifact', artifact],
    ['content', { text: 'x', refs: [hash] }],
    // No times: names and numbers of a configuration, a meta and a map are free, and other counts have no bound.
    ['agent', { name: 'a', package: 'a', version: '', config: { startedAtMs: 1e17 } }],
    ['thread-step', { ...step, meta: { finishedAtMs: 1e17 } }],
    ['thread-start', { ...start, agents: { runAtMs: '1E99000000000' } }],
    ['attempt', { ...attempt, usage: { ...usage, inputTokens: 1e17 } }],
  ])('is given as it is: %s %j', (name, payload) => {
    expect(read(name, payload)).toBe(payload);
  });

  test.each<[keyof Payloads, JsonObject]>([
    ['thread-end', { ...end, outcome: 'lost' }],
    ['thread-end', { ...end, returnCode: 0.5 }],
    ['thread-end', { ...end, returnCode: '0' }],
    ['thread-end', { ...end, lastStep: 1 }],
    ['thread-end', { ...end, lastStep: [] }],
    ['thread-end', { ...end, summary: 'no hash' }],
    ['thread-end', { ...end, completedAtMs: 8.64e15 + 1 }],
    ['thread-step', { ...step, startedAtMs: 1e17 }],
    ['thread-suspend', { ...suspend, due: 1e17 }],
    ['thread-end', { ...end, extra: 1 }],
    ['thread-end', { ...end, constructor: 1 }],
    ['attempt', { ...attempt, errors: 'a' }],
    ['attempt', { ...attempt, errors: ['a', 1] }],
    ['attempt', { ...attempt, usage: [] }],
    ['attempt', { ...attempt, usage: { ...usage, turns: null } }],
    ['attempt', { ...attempt, usage: {} }],
    ['content', { text: 'x', refs: ['x'] }],
    ['artifact', { ...artifact, kind: 'tag' }],
    ['artifact', { ...artifact, oid: '--all' }],
    ['thread-start', { ...start, format: 2 }],
  ])('is refused where a field has another form: %s %j', (name, payload) => {
    expect(() => read(name, payload)).toThrow(UnexpectedNode);
  });

  test.each(Object.keys(end))('is refused without %s', (field) => {
    const payload: JsonObject = { ...end };
    delete payload[field];
    expect(() => read('thread-end', payload)).toThrow(UnexpectedNode);
  });

  test.each<JsonValue>([null, [], 'x', 1])('is refused where it is no object: %j', (payload) => {
    const name: TypeName = 'thread-end';
    expect(() => payloadOf({ type: builtIn[name], payload }, name)).toThrow(UnexpectedNode);
  });

  test('is refused where another type is wanted', () => {
    expect(() => payloadOf({ type: builtIn['thread-end'], payload: end }, 'content')).toThrow(
      'the node is thread-end, not content',
    );
  });
});

test.each<[UwfError, object]>([
  [
    new UnexpectedNode('content', { type: builtIn.agent, payload: {}, hash }),
    {
      code: 'unexpected-node',
      kind: 'data',
      message: `the node ${hash} is agent, not content`,
      hint: "it was not written by uwf; run 'uwf thread verify <thread>' on its thread",
      wanted: 'content',
    },
  ],
  [
    new UnexpectedNode('content', { type: hash, payload: {} }),
    { message: `the node is a node of type ${hash}, not content` },
  ],
  [
    new UnexpectedNode('content', { type: builtIn.content, payload: {} }),
    { message: 'the node does not have the form of a content node' },
  ],
])('%s', (error, properties) => {
  expect(error).toMatchObject(properties);
});
