import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { faultOfValue } from '../../../src/schema/built-in/schema-parts.ts';

test.each<[JsonObject, unknown, string | undefined]>([
  [{ enum: ['a', 'b'] }, 'b', undefined],
  [{ enum: ['a', 'b', 1] }, 'c', "must be 'a', 'b' or 1"],
  [{ enum: ['a', 'b'], type: 'integer' }, 1, "must be 'a' or 'b'"],
  [{ type: 'string' }, 'a', undefined],
  [{ type: 'string' }, '', 'must be a text'],
  [{ type: 'string' }, 1, 'must be a text'],
  [{ type: 'boolean' }, false, undefined],
  [{ type: 'boolean' }, 'true', 'must be true or false'],
  [{ type: 'number' }, 0.1, undefined],
  [{ type: 'number' }, 0, 'must be a number above 0'],
  [{ type: 'number', exclusiveMinimum: 2 }, 2, 'must be a number above 2'],
  [{ type: 'number', exclusiveMinimum: 2 }, 2.1, undefined],
  [{ type: 'number', minimum: 0 }, 0, undefined],
  [{ type: 'number', minimum: 0 }, -0.1, 'must be a number from 0'],
  [{ type: 'number' }, Infinity, 'must be a number above 0'],
  [{ type: 'number' }, '1', 'must be a number above 0'],
  [{ type: 'integer' }, 0, undefined],
  [{ type: 'integer' }, -1, 'must be a whole number from 0'],
  [{ type: 'integer', minimum: 1 }, 1, undefined],
  [{ type: 'integer', minimum: 1 }, 0, 'must be a whole number from 1'],
  [{ type: 'integer' }, 1.5, 'must be a whole number from 0'],
  [{ type: 'integer' }, 2 ** 53, 'must be a whole number from 0'],
  [{ type: 'integer' }, '1', 'must be a whole number from 0'],
  [{ type: 'object' }, {}, undefined],
  [{ type: 'object' }, [], 'must be a map'],
  [{}, null, 'must be a map'],
])('%j of %j: %s', (schema, value, fault) => {
  expect(faultOfValue(schema, value)).toBe(fault);
});
