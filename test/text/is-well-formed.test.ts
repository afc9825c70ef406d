import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWellFormed } from '../../src/text/wording.ts';

const anyUnits = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0x61)))
  .map((units) => String.fromCharCode(...units));

test('a text is well-formed if no half of a surrogate pair stands alone', () => {
  fc.assert(
    fc.property(anyUnits, (text) => {
      expect(isWellFormed(text)).toBe(!/\p{Surrogate}/u.test(text));
    }),
    { numRuns: 2000 },
  );
});
