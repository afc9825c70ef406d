import type { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { compareAsJson } from '../../src/schema/compare-as-json.ts';
import { createAjv } from '../../src/schema/create-ajv.ts';

let ajv: Ajv2020;
let plain: Ajv2020;

beforeEach(async () => {
  ajv = await createAjv({}, true);
  plain = await createAjv({}, true);
  compareAsJson(ajv);
});

/** A value whose properties are named like the methods that the validator's own comparison calls. */
const odd = { toString: 0, valueOf: null, constructor: [{ hasOwnProperty: 1 }] };

const values: readonly JsonValue[] = [null, true, 0, 1, '', 'a', '0', 'null', [], [1], {}, { a: 1, b: [2] }, { 0: 1 }];

describe('values are compared as JSON', () => {
  test.each(values)('by const: %j is equal to itself alone', (wanted) => {
    const check = ajv.compile({ const: wanted });
    expect(values.filter((value) => check(structuredClone(value)))).toEqual([wanted]);
  });

  test('by enum', () => {
    const check = ajv.compile({ enum: [null, 'a', { b: [2], a: 1 }] });
    expect(values.filter((value) => check(value))).toEqual([null, 'a', { a: 1, b: [2] }]);
  });

  test('by an enum that is no list, which allows nothing', () => {
    const check = ajv.compile({ enum: 'a' });
    expect(values.filter((value) => check(value))).toEqual([]);
  });

  test('by uniqueItems', () => {
    const check = ajv.compile({ uniqueItems: true });
    expect(check(values)).toBe(true);
    for (const value of values) expect(check([...values, structuredClone(value)])).toBe(false);
    for (const value of values) expect(check(value)).toBe(true);
    expect(ajv.compile({ uniqueItems: false })([1, 1])).toBe(true);
  });

  test('by multipleOf, of numbers alone', () => {
    const check = ajv.compile({ multipleOf: 0.01 });
    expect([19.99, 64.99, '19.995', null, 19.995].map((value) => check(value))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  test('whatever their properties are called', () => {
    const same = structuredClone(odd);
    for (const schema of [{ const: odd }, { enum: [1, odd] }]) {
      expect(ajv.validate(schema, same)).toBe(true);
      expect(ajv.validate(schema, { ...odd, toString: 1 })).toBe(false);
    }
    expect(ajv.validate({ uniqueItems: true }, [odd, same])).toBe(false);
    expect(ajv.validate({ uniqueItems: true }, [odd, { ...odd, toString: 1 }])).toBe(true);
  });
});

test.each<[object, JsonValue]>([
  [{ properties: { a: { const: { b: 1 } } } }, { a: { b: 2 } }],
  [{ properties: { a: { enum: [1, { b: 1 }] } } }, { a: 2 }],
  [{ items: { uniqueItems: true } }, [[1, 2, 1]]],
  [{ properties: { a: { multipleOf: 0.01 } } }, { a: 0.005 }],
])('the errors are those of the validator: %j of %j', (schema, value) => {
  expect(ajv.validate(schema, value)).toBe(false);
  expect(plain.validate(schema, value)).toBe(false);
  const errors = (ajv.errors ?? []).map(({ keyword, params, message, instancePath, schemaPath }) => ({
    keyword,
    params,
    message,
    instancePath,
    schemaPath,
  }));
  expect(errors).toEqual(plain.errors);
});

test('a value that is right leaves no error', () => {
  const check = ajv.compile({ const: 1 });
  expect([check(2), check(1), check.errors]).toEqual([false, true, null]);
});
