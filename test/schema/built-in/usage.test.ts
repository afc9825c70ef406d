import { describe, expect, test } from 'vitest';
import { addUsage, type Usage } from '../../../src/schema/built-in/schema-parts.ts';

const tokens: Usage = { inputTokens: 1, outputTokens: 2, turns: 1 };
const money: Usage = { inputTokens: 3, outputTokens: 4, turns: 2, costUsd: 0.5 };

describe('the sum of two usages', () => {
  test.each<[Usage | null, Usage | null | undefined, Usage | null]>([
    [null, null, null],
    [null, undefined, null],
    [tokens, null, tokens],
    [null, tokens, tokens],
    [tokens, tokens, { inputTokens: 2, outputTokens: 4, turns: 2 }],
    [money, money, { inputTokens: 6, outputTokens: 8, turns: 4, costUsd: 1 }],
    // A cost that one of them does not tell is a part of it only.
    [tokens, money, { inputTokens: 4, outputTokens: 6, turns: 3, costUsd: 0.5, isAtLeast: true }],
    [money, tokens, { inputTokens: 4, outputTokens: 6, turns: 3, costUsd: 0.5, isAtLeast: true }],
    // Where no tokens were used there was no cost.
    [{ inputTokens: 0, outputTokens: 0, turns: 1 }, money, { ...money, turns: 3 }],
    [
      { inputTokens: 0, outputTokens: 1, turns: 1 },
      money,
      { inputTokens: 3, outputTokens: 5, turns: 3, costUsd: 0.5, isAtLeast: true },
    ],
    [{ ...tokens, cacheReadTokens: 5 }, tokens, { inputTokens: 2, outputTokens: 4, turns: 2, cacheReadTokens: 5 }],
    [tokens, { ...tokens, cacheWriteTokens: 5 }, { inputTokens: 2, outputTokens: 4, turns: 2, cacheWriteTokens: 5 }],
    [{ ...tokens, isAtLeast: true }, tokens, { inputTokens: 2, outputTokens: 4, turns: 2, isAtLeast: true }],
    [tokens, { ...tokens, isAtLeast: true }, { inputTokens: 2, outputTokens: 4, turns: 2, isAtLeast: true }],
  ])('%j and %j', (a, b, sum) => {
    expect(addUsage(a, b)).toEqual(sum);
  });

  test('leaves both as they are', () => {
    const [a, b] = [{ ...money }, { ...money }];
    addUsage(a, b);
    expect([a, b]).toEqual([money, money]);
  });
});
