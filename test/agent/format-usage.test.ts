import { expect, test } from 'vitest';

import { formatUsage } from '../../src/agent/format-usage.ts';

const used = { inputTokens: 12_345, outputTokens: 678, turns: 3 };

test.each([
  [null, ''],
  [{ ...used, costUsd: 0.0123 }, '12,345 tokens in, 678 out, 3 turns, $0.0123'],
  [{ ...used, cacheReadTokens: 9000, cacheWriteTokens: 0 }, '12,345 tokens in (9,000 from a cache), 678 out, 3 turns'],
  [
    { ...used, cacheReadTokens: 9000, cacheWriteTokens: 800, isAtLeast: true },
    'at least 12,345 tokens in (9,000 from a cache, 800 to a cache), 678 out, 3 turns',
  ],
  [{ inputTokens: 0, outputTokens: 0, turns: 1, isAtLeast: true }, 'tokens unknown, 1 turn'],
] as const)('%j is shown as %j', (usage, text) => {
  expect(formatUsage(usage)).toBe(text);
});
