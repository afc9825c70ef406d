import { beforeAll, expect, test } from 'vitest';
import golden from '../../../fixtures/golden/built-in-schemas.json' with { type: 'json' };
import { prepareHashing } from '../../../src/cas/hash.ts';
import { builtIn, encodeBuiltIns, typeNames } from '../../../src/schema/built-in.ts';

beforeAll(prepareHashing);

test('the built-in types have the hashes that they were frozen with', () => {
  const computed = Object.fromEntries(encodeBuiltIns().map((node, at) => [typeNames[at], node.hash]));
  expect(computed).toEqual(golden);
  expect(builtIn).toEqual(golden);
});
