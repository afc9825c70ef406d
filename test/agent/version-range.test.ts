import { expect, test } from 'vitest';

import { isVersionRange, satisfiesRange } from '../../src/agent/version-range.ts';

test.each([
  ['1.2.4', '1.2.3', false],
  ['1.9.0', '^1.2.3', true],
  ['1.2.2', '^1.2.3', false],
  ['0.3.0', '^0.2.3', false],
  ['1.3.0', '~1.2.3', false],
  ['1.10.0', '>=1.9.0', true],
  ['1.10.0', '1.x', true],
  ['2.4.0', '>=1.2 <2 || 2.4.0', true],
  ['2.3.0', '>=1.2 <2 || 2.4.0', false],
  ['1.3.0-beta.1', '^1.2.3', false],
  ['1.3.0-beta.1', '^1.3.0-beta.0', true],
  ['1.2.3', '*', true],
  ['1.2.3', 'latest', false],
  ['no version', '*', false],
])('%s in %s: %s, as npm has it', async (version, range, isSatisfied) => {
  expect(await satisfiesRange(version, range)).toBe(isSatisfied);
});

test.each([
  ['^1.2.0', true],
  ['1.2', true],
  ['>=1 <2', true],
  ['latest', false],
  ['^1.2.0.1', false],
])('%s is a range: %s', async (text, isRange) => {
  expect(await isVersionRange(text)).toBe(isRange);
});
