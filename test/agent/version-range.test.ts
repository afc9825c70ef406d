import { expect, test } from 'vitest';

import { satisfiesRange } from '../../src/agent/version-range.ts';

test.each([
  ['1.2.3', '1.2.3', true],
  ['1.2.4', '1.2.3', false],
  ['1.9.0', '^1.2.3', true],
  ['2.0.0', '^1.2.3', false],
  ['1.2.2', '^1.2.3', false],
  ['0.2.9', '^0.2.3', true],
  ['0.3.0', '^0.2.3', false],
  ['0.0.4', '^0.0.3', false],
  ['1.2.9', '~1.2.3', true],
  ['1.3.0', '~1.2.3', false],
  ['9.0.0', '>=1.2.3', true],
  ['1.10.0', '>=1.9.0', true],
  ['1.3.0-beta.1', '^1.2.3', false],
  ['1.3.0-beta.1', '1.3.0-beta.1', true],
  ['1.2.3+build', '^1.2.3', true],
  ['1.2.3', '*', true],
  ['1.2.3', '1.x', undefined],
  ['1.2.3', 'latest', undefined],
])('%s in %s: %s', (version, range, isSatisfied) => {
  expect(satisfiesRange(version, range)).toBe(isSatisfied);
});
