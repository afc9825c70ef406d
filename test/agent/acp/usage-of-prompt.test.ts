import { describe, expect, test } from 'vitest';

import { UpdateReader } from '../../../src/agent/acp/prompt-turn.ts';
import { usageOfPrompt } from '../../../src/agent/acp/usage.ts';
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
