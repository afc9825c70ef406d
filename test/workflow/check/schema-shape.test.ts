import { describe, expect, test } from 'vitest';
import { SchemaShape } from '../../../src/workflow/check/schemas.ts';
import type { JsonObject } from '../../../src/json.ts';

const status = (value: string, ...fields: string[]): JsonObject => ({
  properties: { $status: { const: value }, ...Object.fromEntries(fields.map((field) => [field, true])) },
  required: ['$status'],
});

describe('the statuses of a schema', () => {
  test.each<[string, JsonObject, string[] | undefined]>([
    ['const', status('a'), ['a']],
    ['enum', { properties: { $status: { enum: ['a', 'b', 3] } } }, ['a', 'b']],
    ['oneOf', { oneOf: [status('a'), status('b')] }, ['a', 'b']],
    [
      'anyOf of the status itself',
      { properties: { $status: { anyOf: [{ const: 'a' }, { enum: ['b'] }] } } },
      ['a', 'b'],
    ],
    ['a reference', { $defs: { 's/x': { enum: ['a'] } }, properties: { $status: { $ref: '#/$defs/s~1x' } } }, ['a']],
    [
      'referenced variants',
      { $defs: { a: status('a'), b: status('b') }, anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }] },
      ['a', 'b'],
    ],
    [
      'what all parts allow',
      { allOf: [{ properties: { $status: { enum: ['a', 'b'] } } }, { properties: { $status: { enum: ['b', 'c'] } } }] },
      ['b'],
    ],
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    ['if, then and else', { if: {}, then: status('a'), else: status('b') }, ['a', 'b']],
    ['none listed', { properties: { $status: { type: 'string' } } }, undefined],
    ['listed in one variant only', { oneOf: [status('a'), {}] }, undefined],
    ['a reference to itself', { $ref: '#' }, undefined],
    ['a reference to nothing', { $ref: '#/$defs/none' }, undefined],
    ['a status that refers to itself', { properties: { $status: { $ref: '#/properties/$status' } } }, undefined],
    [
      'a status that is a constant or itself',
      { properties: { $status: { anyOf: [{ const: 'a' }, { $ref: '#/properties/$status' }] } } },
      undefined,
    ],
    [
      'a status by an anchor',
      { $defs: { s: { $anchor: 's', enum: ['a'] } }, properties: { $status: { $ref: '#s' } } },
      ['a'],
    ],
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    ['then alone, which may not hold', { if: status('x'), then: status('a') }, undefined],
    ['a dependent schema, which may not hold', { dependentSchemas: { x: status('a') } }, undefined],
    ['what is not', { not: status('a') }, undefined],
    ['a status of parts that share nothing', { allOf: [status('a'), status('b')] }, []],
  ])('%s', (_name, schema, expected) => {
    expect(new SchemaShape(schema).statuses).toEqual(expected);
  });

  test('are found where they are listed', () => {
    const shape = new SchemaShape({ oneOf: [status('a'), { properties: { $status: { enum: ['b', 'c'] } } }] });
    expect(shape.statusPath('a')).toEqual(['oneOf', 0, 'properties', '$status', 'const']);
    expect(shape.statusPath('c')).toEqual(['oneOf', 1, 'properties', '$status', 'enum', 1]);
  });

  test('are found by a reference where it leads, and where they are named first', () => {
    const shape = new SchemaShape({
      $defs: { s: { enum: ['a'] } },
      if: status('a'),
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: status('b'),
      properties: { $status: { $ref: '#/$defs/s' } },
    });
    expect(shape.statusPath('a')).toEqual(['$defs', 's', 'enum', 0]);
    expect(shape.statusPath('b')).toEqual(['then', 'properties', '$status', 'const']);
    expect(shape.statusPath('none')).toEqual([]);
  });

  test('are required only if every variant requires them', () => {
    expect(new SchemaShape({ oneOf: [status('a'), status('b')] }).isStatusRequired).toBe(true);
    expect(
      new SchemaShape({ oneOf: [status('a'), { properties: { $status: { const: 'b' } } }] }).isStatusRequired,
    ).toBe(false);
    expect(
      new SchemaShape({ required: ['$status'], oneOf: [{ properties: { $status: { const: 'b' } } }] }).isStatusRequired,
    ).toBe(true);
  });
});

describe('the fields of a schema', () => {
  test('are those of the variant with that status, and what is common', () => {
    const shape = new SchemaShape({ properties: { all: true }, oneOf: [status('a', 'x'), status('b', 'y')] });
    expect([...shape.fields(['a']).names].toSorted()).toEqual(['$status', 'all', 'x']);
    expect([...shape.fields().names].toSorted()).toEqual(['$status', 'all', 'x', 'y']);
    expect(shape.fields(['a']).isOpen).toBe(false);
  });

  test.each<[string, JsonObject]>([
    ['additionalProperties', { additionalProperties: true }],
    ['patternProperties', { patternProperties: { '^x': {} } }],
    ['a reference that leads out', { $ref: 'https://example.com/schema' }],
  ])('are open under %s', (_name, schema) => {
    expect(new SchemaShape(schema).fields().isOpen).toBe(true);
  });

  test('of a schema that multiplies without bounds nothing is said', () => {
    const variants: JsonObject = { oneOf: Array.from({ length: 10 }, (_, index) => status(`s${index}`)) };
    const shape = new SchemaShape({ allOf: Array.from({ length: 8 }, () => ({ anyOf: [variants, {}] })) });
    expect(shape.fields(['s1']).isOpen || shape.statuses === undefined).toBe(true);
  });
});
