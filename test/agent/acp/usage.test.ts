import { describe, expect, test } from 'vitest';

import { UpdateReader } from '../../../src/agent/acp/prompt-turn.ts';
import {
  costCountingOf,
  nameOfSession,
  readSessionName,
  readTokens,
  SessionCost,
  tokensOfAnswer,
  usageOfPrompt,
} from '../../../src/agent/acp/usage.ts';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';

function read(...updates: JsonObject[]): { reader: UpdateReader; events: AgentEvent[] } {
  const events: AgentEvent[] = [];
  const emit = (event: AgentEvent): void => void events.push(event);
  const reader = new UpdateReader(emit);
  for (const update of updates) reader.read(update);
  return { reader, events };
}

function chunk(text: string, usage?: JsonObject): JsonObject {
  const content = { type: 'text', text };
  return { sessionUpdate: 'agent_message_chunk', content, ...(usage && { _meta: { usage } }) };
}

const tool = { sessionUpdate: 'tool_call', toolCallId: 'a', title: 'ls', status: 'completed', rawInput: { path: '.' } };
const request = { inputTokens: 1000, outputTokens: 10, totalTokens: 1010, thoughtTokens: 0, cachedReadTokens: 300 };
const ended = { stopReason: 'end_turn' } as const;

describe('an agent that tells each request by itself (Qwen Code)', () => {
  const { reader, events } = read(chunk('', request), tool, chunk('Done.'), chunk('', request));

  test('has used what they have used together', () => {
    const sum = { inputTokens: 2000, outputTokens: 20, turns: 2, cacheReadTokens: 600 };
    expect(usageOfPrompt(ended, reader, {})).toEqual(sum);
    expect(usageOfPrompt(undefined, reader, {})).toEqual({ ...sum, isAtLeast: true });
  });

  test('is heard at once, as it may be cut off', () => {
    const told = { inputTokens: 1000, outputTokens: 10, turns: 1, cacheReadTokens: 300, isAtLeast: true };
    expect(events[0]).toEqual({ kind: 'usage', usage: told });
    expect(events.filter(({ kind }) => kind === 'text')).toEqual([{ kind: 'text', text: 'Done.' }]);
  });
});

describe('an agent that tells of its last request alone (opencode)', () => {
  const usage = { inputTokens: 2100, outputTokens: 30, cachedReadTokens: 900, totalTokens: 3030 };
  const context = { sessionUpdate: 'usage_update', used: 3000, size: 9000, cost: { amount: 0.01, currency: 'USD' } };
  const tokens = { inputTokens: 3000, outputTokens: 30, cacheReadTokens: 900 };

  test('has used at least that where it asked more than once', () => {
    const { reader } = read(chunk('I look.'), tool, chunk('Done.'), context);
    expect(usageOfPrompt({ ...ended, usage }, reader, {})).toEqual({ ...tokens, turns: 2, isAtLeast: true });
    expect(reader.sessionCostUsd).toBe(0.01);
  });

  test('has used just that where it asked once', () => {
    const { reader } = read(chunk('Done.'), context);
    expect(usageOfPrompt({ ...ended, usage }, reader, { costUsd: 0.01 })).toEqual({
      ...tokens,
      turns: 1,
      costUsd: 0.01,
    });
  });
});

test('an agent that sums up its requests has used that sum', () => {
  const context = { sessionUpdate: 'usage_update', used: 2020, size: 9000 };
  const { reader } = read(chunk('I look.'), tool, chunk('Done.'), context);
  const usage = { inputTokens: 3000, outputTokens: 30, totalTokens: 3030 };
  expect(usageOfPrompt({ ...ended, usage }, reader, {})).toEqual({ inputTokens: 3000, outputTokens: 30, turns: 2 });
});

test('an agent that tells nothing has used something all the same', () => {
  const unknown = { inputTokens: 0, outputTokens: 0, isAtLeast: true };
  expect(usageOfPrompt(ended, read(chunk('Done.')).reader, {})).toEqual({ ...unknown, turns: 1 });
  expect(usageOfPrompt(undefined, read().reader, {})).toEqual({ ...unknown, turns: 0 });
  expect(usageOfPrompt(ended, read().reader, {})).toBeUndefined();
});

test('a cost of 0 is one that is not known', () => {
  const free = { sessionUpdate: 'usage_update', used: 1, size: 9, cost: { amount: 0, currency: 'USD' } };
  expect(read(free).reader.sessionCostUsd).toBeUndefined();
});

const left = (costUsd?: number): { id: string; costUsd: number | undefined } => ({ id: 's', costUsd });

describe('the cost of a prompt', () => {
  test('is what the sum has grown by, within one process', () => {
    const cost = new SessionCost('unknown', undefined);
    expect(cost.share(0.0117)).toEqual({ costUsd: 0.0117 });
    expect(cost.share(0.02106)).toEqual({ costUsd: 0.00936 });
    expect(cost.usd).toBe(0.02106);
  });

  test.each([
    ['sum', 0.5, 0.7, { costUsd: 0.2 }],
    ['sum', 0.5, 0.5, { costUsd: 0 }],
    // What was told last was not written down before the process ended.
    ['sum', 0.5, 0.4, { isAtLeast: true }],
    ['sum', undefined, 0.7, { isAtLeast: true }],
    ['anew', 0.5, 0.7, { costUsd: 0.7 }],
    ['anew', undefined, 0.7, { costUsd: 0.7 }],
    ['unknown', 0.5, 0.7, { costUsd: 0.2, isAtLeast: true }],
    ['unknown', 0.5, 0.4, { costUsd: 0.4 }],
  ] as const)('counted as %s in a session that was left at %s, and told as %s', (counting, before, told, share) => {
    const cost = new SessionCost(counting, left(before));
    expect(cost.share(told)).toEqual(share);
    expect(cost.share(told + 1)).toEqual({ costUsd: 1 });
  });

  test('is unknown where it was told before and is not now, and comes with the next one', () => {
    const cost = new SessionCost('sum', left(1));
    expect(cost.share(undefined)).toEqual({ isAtLeast: true });
    expect(cost.share(3)).toEqual({ costUsd: 2 });
    expect(new SessionCost('sum', undefined).share(undefined)).toEqual({});
  });
});

test('how an agent counts is known by what it calls itself', async () => {
  const name = '@agentclientprotocol/claude-agent-acp';
  expect(await costCountingOf({ name, version: '0.49.0' })).toBe('anew');
  expect(await costCountingOf({ name, version: '0.101.0' })).toBe('sum');
  expect(await costCountingOf({ name: 'OpenCode', version: '1.18.33' })).toBe('sum');
  expect(await costCountingOf({ name: 'another', version: '1.0.0' })).toBe('unknown');
  expect(await costCountingOf(undefined)).toBe('unknown');
});

test.each([left(), left(0.25), { id: '{"id":"x"}', costUsd: undefined }])('%j keeps its name', (session) => {
  expect(readSessionName(nameOfSession(session))).toEqual(session);
});

test('the name of a session of an older version is its id', () => {
  expect(readSessionName('ses_1')).toEqual({ id: 'ses_1', costUsd: undefined });
  expect(readSessionName('12')).toEqual({ id: '12', costUsd: undefined });
});

describe('what an agent reports of tokens', () => {
  const read = { cacheReadTokens: 900, cacheWriteTokens: 150 };
  test.each([
    [
      'caches beside the input (opencode, the bridges of Claude and Codex)',
      { inputTokens: 1950, outputTokens: 30, cachedReadTokens: 900, cachedWriteTokens: 150, totalTokens: 3030 },
      { inputTokens: 3000, outputTokens: 30, ...read },
    ],
    [
      'caches within the input (Qwen Code)',
      { inputTokens: 3000, outputTokens: 30, cachedReadTokens: 900, thoughtTokens: 0, totalTokens: 3030 },
      { inputTokens: 3000, outputTokens: 30, cacheReadTokens: 900 },
    ],
    [
      'thoughts beside the output (opencode)',
      { inputTokens: 100, outputTokens: 30, thoughtTokens: 8, cachedReadTokens: 50, totalTokens: 188 },
      { inputTokens: 150, outputTokens: 38, cacheReadTokens: 50 },
    ],
    [
      'thoughts within the output (Codex)',
      { inputTokens: 100, outputTokens: 30, thoughtTokens: 8, cachedReadTokens: 50, totalTokens: 180 },
      { inputTokens: 150, outputTokens: 30, cacheReadTokens: 50 },
    ],
    ['the words of the Gemini CLI', { input_tokens: 7, output_tokens: 2 }, { inputTokens: 7, outputTokens: 2 }],
    [
      'no total, so that it cannot be told',
      { inputTokens: 3000, outputTokens: 30, cachedReadTokens: 900 },
      { inputTokens: 3000, outputTokens: 30, cacheReadTokens: 900, isAtLeast: true },
    ],
    [
      'no total, but more from a cache than was given',
      { inputTokens: 10, outputTokens: 30, cachedReadTokens: 900 },
      { inputTokens: 910, outputTokens: 30, cacheReadTokens: 900, isAtLeast: true },
    ],
    [
      'a total that nothing adds up to',
      { inputTokens: 10, outputTokens: 3, totalTokens: 99 },
      { inputTokens: 10, outputTokens: 3, isAtLeast: true },
    ],
    [
      'nulls for what is not known',
      { inputTokens: 10, outputTokens: 3, cachedReadTokens: null, thoughtTokens: null, totalTokens: 13 },
      { inputTokens: 10, outputTokens: 3 },
    ],
  ])('%s', (_name, reported, tokens) => {
    expect(readTokens(reported)).toEqual({ turns: 1, ...tokens });
  });

  test.each([null, [], {}, { inputTokens: -1, outputTokens: 1 }, { inputTokens: 1.5, outputTokens: 1 }])(
    'is nothing in %j',
    (reported) => {
      expect(readTokens(reported)).toBeUndefined();
    },
  );
});

describe('an answer to a prompt', () => {
  const usage = { inputTokens: 10, outputTokens: 3, totalTokens: 13 };

  test('has the counts of all models where they are more than those of the main one', () => {
    const row = (inputTokens: number): object => ({ model: 'm', token_count: { inputTokens, outputTokens: 1 } });
    const quota = { token_count: { inputTokens: 10, outputTokens: 3 }, model_usage: [row(10), row(7)] };
    const answer = { stopReason: 'end_turn', usage, _meta: { quota } } as const;
    expect(tokensOfAnswer(answer)).toMatchObject({ inputTokens: 17, outputTokens: 2 });
    expect(tokensOfAnswer({ ...answer, _meta: { quota: { ...quota, model_usage: [] } } })).toMatchObject({
      inputTokens: 10,
    });
  });

  test('has none where the agent tells none', () => {
    expect(tokensOfAnswer({ stopReason: 'end_turn' })).toBeUndefined();
    expect(tokensOfAnswer(undefined)).toBeUndefined();
  });
});
