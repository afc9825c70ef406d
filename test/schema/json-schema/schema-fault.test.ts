import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/json.ts';
import { findSchemaFault } from '../../../src/schema/validator.ts';

const repeated = (count: number, part: JsonValue): JsonValue[] => Array.from({ length: count }, () => part);

function chain(length: number): JsonValue {
  const parts = Array.from({ length }, (_, place) => [`a${place}`, { $ref: `#/$defs/a${place + 1}` }]);
  return { $ref: '#/$defs/a0', $defs: { ...Object.fromEntries(parts), [`a${length}`]: {} } };
}

/** A schema of whose properties one applies so many schemas inside one another, and then as many as another one does. */
function twoChains(length: number, more: number): JsonValue {
  const nested = (count: number, last: JsonValue): JsonValue => (count === 0 ? last : { not: nested(count - 1, last) });
  return { properties: { a: nested(length - 1, {}), b: nested(more, { $ref: '#/properties/a' }) } };
}

/** A schema that applies so many schemas to a value by references alone, itself among them. */
const applying = (count: number): JsonValue => ({
  $defs: { many: { allOf: repeated(99, {}) } },
  allOf: [...repeated(Math.floor((count - 1) / 101), { $ref: '#/$defs/many' }), ...repeated((count - 1) % 101, {})],
});

describe('a schema that uwf cannot work with', () => {
  test.each<[JsonValue, string]>([
    [{ $ref: 'other' }, "$ref 'other' leads out of the schema"],
    [{ items: { $dynamicRef: 'https://x.org' } }, "$dynamicRef 'https://x.org' leads out of the schema"],
    [{ $recursiveRef: 'x' }, "$recursiveRef 'x' leads out of the schema"],
    [{ items: { $id: 'x' } }, "only the schema as a whole can have an '$id'"],
    [{ pattern: '(' }, "the pattern '(' cannot be used: Unterminated group"],
    [{ patternProperties: { '[': {} } }, "the pattern '[' cannot be used: Unterminated character class"],
    [{ pattern: `${'a'.repeat(60)}(` }, `the pattern '${'a'.repeat(40)}' cannot be used: Unterminated group`],
    [{ $ref: '#' }, 'refers to itself without going into the value, which never ends'],
    [{ not: { $ref: '#' } }, 'refers to itself without going into the value, which never ends'],
    [
      { allOf: [{ dependentSchemas: { a: { $ref: '#' } } }] },
      'refers to itself without going into the value, which never ends',
    ],
    [{ dependencies: { a: { $ref: '#' } } }, 'refers to itself without going into the value, which never ends'],
    [{ anyOf: repeated(2000, {}) }, 'has more than 2000 schemas in it'],
    [{ pattern: '\\-' }, "the pattern '\\-' cannot be used: Invalid escape"],
    [chain(100), 'applies more than 100 schemas inside one another'],
    [twoChains(60, 41), 'applies more than 100 schemas inside one another'],
    [applying(10_001), 'applies more than 10000 schemas to one value'],
    [{ title: 'x'.repeat(262_144) }, 'takes 262210 bytes, and 262144 is the most'],
  ])('%#', (schema, message) => {
    expect(findSchemaFault(schema)).toEqual({ path: '', message });
  });

  test.each<[JsonValue]>([
    [true],
    [{ $ref: '#/$defs/a', $defs: { a: {} } }],
    [{ $ref: 'https://json-schema.org/draft/2020-12/schema' }],
    [{ $id: 'x', items: { $ref: '#' }, properties: { a: { $ref: '#' } } }],
    [{ pattern: 'a', patternProperties: { '^b': {} } }],
    [{ pattern: 1, $ref: 1, $id: 'x' }],
    [{ pattern: ['('], patternProperties: ['('] }],
    [{ anyOf: repeated(10_001, true) }],
    [twoChains(60, 39)],
    [{ anyOf: repeated(1999, {}) }],
    [chain(98)],
    [applying(10_000)],
    [{ title: 'x'.repeat(262_144 - 66) }],
  ])('is none of these: %#', (schema) => {
    expect(findSchemaFault(schema)).toBeUndefined();
  });
});
