import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMultipleOf } from '../../../src/schema/compare-as-json.ts';

test.each<[number, number, boolean]>([
  [19.99, 0.01, true],
  [0.07, 0.01, true],
  [-64.99, 0.01, true],
  [1.1, 0.1, true],
  [4.35, 0.05, true],
  [0.3, 0.1, true],
  // Not 0.3, and JSON says so.
  [0.1 + 0.2, 0.1, false],
  [19.995, 0.01, false],
  [0.075, 0.05, false],
  [1e-7, 1e-8, true],
  [0, 0.01, true],
  [-0, 3, true],
  [7, 3, false],
  [9007199254740994, 0.01, true],
  [2 ** 60, 1024, true],
  [1152921504606847000, 1000, true],
  [1e308, 0.5, true],
  [1e308, 3, false],
  [1e308, 0.123456789, false],
  [1, 5e-324, true],
  [5e-324, 1e308, false],
])('%d of %d: %j', (value, unit, expected) => {
  expect(isMultipleOf(value, unit)).toBe(expected);
});

test('an amount with up to four decimals is a multiple of the last one, and half of that is none', () => {
  const amount = fc.tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 4 }));
  fc.assert(
    fc.property(amount, ([digits, decimals]) => {
      // More than 15 digits with a fraction may be no number's shortest decimal.
      const value = Number(`${decimals === 0 ? digits : digits % 1e15}e-${decimals}`);
      const unit = Number(`1e-${decimals}`);
      expect(isMultipleOf(value, unit)).toBe(true);
      const between = Number(`${(digits % 1e14) * 10 + 5 * Math.sign(digits || 1)}e-${decimals + 1}`);
      expect(isMultipleOf(between, unit)).toBe(false);
    }),
  );
});
