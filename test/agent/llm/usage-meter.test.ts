import type { LanguageModelUsage } from 'ai';
import { expect, test } from 'vitest';

import { UsageMeter } from '../../../src/agent/llm/converse.ts';

function answer(input: number | undefined, output: number, read?: number, write?: number): LanguageModelUsage {
  return {
    inputTokens: input,
    inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: read, cacheWriteTokens: write },
    outputTokens: output,
    outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
    totalTokens: undefined,
  };
}

test('the answers of a model of builtin:llm add up, with the tokens of caches', () => {
  const meter = new UsageMeter();
  const tokens = { inputTokens: 2000, outputTokens: 30, cacheReadTokens: 600, cacheWriteTokens: 100 };
  expect(meter.add(answer(2000, 30, 600, 100))).toEqual({ ...tokens, turns: 1 });
  meter.add(answer(10, 1));
  expect(meter.total).toEqual({ ...tokens, inputTokens: 2010, outputTokens: 31, turns: 2 });
});

test('an answer is at least what was told where the server leaves counts out', () => {
  const meter = new UsageMeter();
  expect(meter.add(answer(undefined, 5))).toEqual({ inputTokens: 0, outputTokens: 5, turns: 1, isAtLeast: true });
});
