import { expect, test } from 'vitest';
import { faultOfLimit, limitNames } from '../../../src/schema/built-in/schema-parts.ts';

test('every limit has a least value of its own', () => {
  const least = Object.fromEntries(limitNames.map((name) => [name, faultOfLimit(name, -1)]));
  const positive = 'must be a whole number from 1';
  expect(least).toEqual({
    maxSteps: positive,
    maxVisits: positive,
    timeoutMs: positive,
    idleTimeoutMs: positive,
    maxTurns: positive,
    maxTokens: positive,
    maxCostUsd: 'must be a number above 0',
    maxDepth: 'must be a whole number from 0',
  });
});
