import { beforeAll, describe, expect, test } from 'vitest';
import golden from '../../../fixtures/golden/built-in-schemas.json' with { type: 'json' };
import goldenSuccessors from '../../../fixtures/golden/built-in-successors.json' with { type: 'json' };
import { prepareHashing } from '../../../src/cas/hash.ts';
import {
  builtIn,
  builtInTypes,
  encodeBuiltIn,
  encodeBuiltIns,
  isSuccessor,
  typeNameOf,
  typeNames,
} from '../../../src/schema/built-in.ts';

beforeAll(prepareHashing);

const successors = builtInTypes.filter(isSuccessor);

describe('the built-in types', () => {
  test('have the hashes that they were frozen with', () => {
    const computed = Object.fromEntries(encodeBuiltIns().map((node, at) => [typeNames[at], node.hash]));
    expect(computed).toEqual(golden);
    expect(builtIn).toEqual(golden);
  });

  test('have successors with the hashes that they were frozen with', () => {
    const computed = successors.map((type) => [typeNameOf(type), encodeBuiltIn(type).hash]);
    expect(Object.fromEntries(computed)).toEqual(goldenSuccessors);
    expect(Object.fromEntries(successors.map((type) => [typeNameOf(type), type]))).toEqual(goldenSuccessors);
  });
});
