import type { LanguageModelUsage } from 'ai';
import { describe, expect, test } from 'vitest';

import { UsageMeter } from '../../../src/agent/llm/usage-meter.ts';

function answer(input: number | undefined, output: number, read?: number, write?: number): LanguageModelUsage {
  return {
    inputTokens: input,
    inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: read, cacheWriteTokens: write },
    outputTokens: output,
    outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
    totalTokens: undefined,
  };
}

const prices = { inputPerMTok: 3, outputPerMTok: 15 };

describe('what a model of builtin:llm costs', () => {
  test('has the tokens of caches at their own price', () => {
    const meter = new UsageMeter({ ...prices, cacheReadPerMTok: 0.3, cacheWritePerMTok: 3.75 });
    const usage = meter.add(answer(2000, 30, 600, 100));
    const costUsd = (1300 * 3 + 600 * 0.3 + 100 * 3.75 + 30 * 15) / 1_000_000;
    const tokens = { inputTokens: 2000, outputTokens: 30, cacheReadTokens: 600, cacheWriteTokens: 100 };
    expect(usage).toEqual({ ...tokens, turns: 1, costUsd });
    meter.add(answer(10, 1));
    expect(meter.total).toMatchObject({ inputTokens: 2010, turns: 2, cacheReadTokens: 600 });
    expect(meter.total).not.toHaveProperty('isAtLeast');
  });

  test('is never less than what was paid, or says so, where caches have no price', () => {
    const meter = new UsageMeter(prices);
    expect(meter.add(answer(1000, 0, 600))).toEqual({
      inputTokens: 1000,
      outputTokens: 0,
      turns: 1,
      cacheReadTokens: 600,
      costUsd: 0.003,
    });
    expect(meter.add(answer(1000, 0, 0, 10))).toMatchObject({ costUsd: 0.003, isAtLeast: true });
    expect(meter.total).toMatchObject({ costUsd: 0.006, isAtLeast: true });
  });

  test('is at least what was told where the server leaves counts out', () => {
    const meter = new UsageMeter(undefined);
    expect(meter.add(answer(undefined, 5))).toEqual({ inputTokens: 0, outputTokens: 5, turns: 1, isAtLeast: true });
    expect(meter.total).not.toHaveProperty('costUsd');
  });
});
