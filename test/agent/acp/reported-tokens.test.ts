import { describe, expect, test } from 'vitest';

import { readTokens, tokensOfAnswer } from '../../../src/agent/acp/usage.ts';

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
