import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shortIds } from '../../../src/cli/output/table.ts';

test('an id is written with ten characters, or with as many as make it no other', () => {
  const short = shortIds(['01KAM4AAAAXX', '01KAM4AAAAXY', '01KAM5AAAAXX']);
  expect(['01KAM4AAAAXX', '01KAM4AAAAXY', '01KAM5AAAAXX'].map(short)).toEqual([
    '01KAM4AAAAXX',
    '01KAM4AAAAXY',
    '01KAM5AAAA',
  ]);
  const id = fc.string({ unit: fc.constantFrom('0', '1'), minLength: 14, maxLength: 14 });
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 40 }), (ids) => {
      for (const one of ids) expect(ids.filter((other) => other.startsWith(shortIds(ids)(one)))).toEqual([one]);
    }),
  );
});
