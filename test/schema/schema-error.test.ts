import type { ErrorObject } from 'ajv';
import { describe, expect, test } from 'vitest';
import { readableErrors } from '../../src/schema/schema-error.ts';

function fault(keyword: string, params: object = {}, more: Partial<ErrorObject> = {}): ErrorObject {
  return { keyword, params, instancePath: '', schemaPath: `#/${keyword}`, ...more };
}

const messagesOf = (...errors: ErrorObject[]): string[] =>
  readableErrors(errors).map(({ path, message }) => (path === '' ? message : `${path} ${message}`));

test.each<[string, object, string]>([
  ['required', { missingProperty: 'a' }, "lacks the property 'a'"],
  ['dependentRequired', { missingProperty: 'a', property: 'b' }, "lacks the property 'a', which 'b' needs"],
  ['dependencies', { missingProperty: 'a', property: 'b' }, "lacks the property 'a', which 'b' needs"],
  ['additionalProperties', { additionalProperty: 'a' }, "must not have the property 'a'"],
  ['unevaluatedProperties', { unevaluatedProperty: 'a' }, "must not have the property 'a'"],
  ['propertyNames', { propertyName: 'a' }, "must not have the property 'a': its name is not allowed"],
  ['type', { type: 'string' }, 'must be a string'],
  ['type', { type: ['object', 'null'] }, 'must be an object or null'],
  ['const', { allowedValue: { a: 1 } }, 'must be {"a":1}'],
  ['enum', { allowedValues: ['a', null] }, 'must be one of "a", null'],
  ['enum', {}, 'must be one of '],
  ['minimum', { limit: 1 }, 'must be 1 or more'],
  ['maximum', { limit: 1 }, 'must be 1 or less'],
  ['exclusiveMinimum', { limit: 1 }, 'must be more than 1'],
  ['exclusiveMaximum', { limit: 1 }, 'must be less than 1'],
  ['multipleOf', { multipleOf: 3 }, 'must be a multiple of 3'],
  ['minLength', { limit: 1 }, 'must have at least 1 character'],
  ['maxLength', { limit: 2 }, 'must have at most 2 characters'],
  ['minItems', { limit: 1 }, 'must have at least 1 item'],
  ['maxItems', { limit: 0 }, 'must have at most 0 items'],
  ['minProperties', { limit: 2 }, 'must have at least 2 properties'],
  ['maxProperties', { limit: 1 }, 'must have at most 1 property'],
  ['uniqueItems', { i: 2, j: 0 }, 'must not have the same item twice (items 0 and 2, from 0)'],
  ['pattern', { pattern: '^a' }, "must match the pattern '^a'"],
  ['format', { format: 'cas_ref' }, 'must be a node hash'],
  ['format', { format: 'date' }, "must have the format 'date'"],
  ['anyOf', {}, 'must match one of the variants in its schema'],
  ['oneOf', { passingSchemas: [0, 1] }, 'must match one of the variants in its schema, and no other'],
  ['oneOf', { passingSchemas: null }, 'must match one of the variants in its schema, and no other'],
  ['not', {}, 'must not match what its schema excludes'],
  ['false schema', {}, 'must not be there'],
  ['other', {}, "fails 'other'"],
])('%s %j: %s', (keyword, params, message) => {
  expect(messagesOf(fault(keyword, params))).toEqual([message]);
});

test('a keyword that has no words keeps those of the validator', () => {
  expect(messagesOf(fault('other', {}, { message: 'is odd' }))).toEqual(['is odd']);
});

test('where a validator has no list of errors there is none', () => {
  expect([readableErrors(null), readableErrors(undefined)]).toEqual([[], []]);
});

test('a mistake is said once', () => {
  expect(messagesOf(fault('not'), fault('not'), fault('not', {}, { instancePath: '/a' }))).toEqual([
    'must not match what its schema excludes',
    '/a must not match what its schema excludes',
  ]);
});

test('fifty mistakes are said, and no more', () => {
  const many = (count: number): ErrorObject[] =>
    Array.from({ length: count }, (_, at) => fault('not', {}, { instancePath: `/${at}` }));
  expect(readableErrors(many(50))).toHaveLength(50);
  expect(readableErrors(many(51))).toHaveLength(50);
});

describe('of a union', () => {
  const inBranch = (branch: number, keyword: string, params: object, instancePath: string): ErrorObject =>
    fault(keyword, params, { schemaPath: `#/anyOf/${branch}/${keyword}`, instancePath });
  const union = fault('anyOf', {}, { schemaPath: '#/anyOf' });

  test('only the variant that was meant is reported', () => {
    expect(
      messagesOf(
        inBranch(0, 'const', { allowedValue: 'a' }, '/kind'),
        inBranch(0, 'required', { missingProperty: 'x' }, ''),
        inBranch(1, 'required', { missingProperty: 'y' }, ''),
        union,
      ),
    ).toEqual(["lacks the property 'y'"]);
  });

  test('a variant of another type was not meant', () => {
    expect(
      messagesOf(inBranch(0, 'type', { type: 'null' }, ''), inBranch(1, 'type', { type: 'string' }, '/a'), union),
    ).toEqual(['/a must be a string']);
  });

  test('variants are told apart by their whole number', () => {
    expect(
      messagesOf(
        inBranch(1, 'const', { allowedValue: 'a' }, '/kind'),
        inBranch(10, 'required', { missingProperty: 'x' }, ''),
        inBranch(11, 'const', { allowedValue: 'b' }, '/kind'),
        union,
      ),
    ).toEqual(["lacks the property 'x'"]);
  });

  test('all is reported where two variants may be meant', () => {
    const errors = [
      inBranch(0, 'const', { allowedValue: 'a' }, '/kind'),
      inBranch(1, 'required', { missingProperty: 'x' }, ''),
      inBranch(2, 'required', { missingProperty: 'y' }, ''),
      union,
    ];
    expect(messagesOf(...errors)).toEqual([
      '/kind must be "a"',
      "lacks the property 'x'",
      "lacks the property 'y'",
      'must match one of the variants in its schema',
    ]);
  });

  test.each<[string, [string, object, string], string[]]>([
    ['none is of the type of the value', ['type', { type: 'null' }, ''], ['must be a string', 'must be null']],
    [
      'one is of another type, and one has another constant',
      ['const', { allowedValue: 'a' }, '/kind'],
      ['must be a string', '/kind must be "a"'],
    ],
  ])('all is reported where %s', (_, [keyword, params, path], messages) => {
    const errors = [inBranch(0, 'type', { type: 'string' }, ''), inBranch(1, keyword, params, path), union];
    expect(messagesOf(...errors)).toEqual([...messages, 'must match one of the variants in its schema']);
    const reversed = [inBranch(0, keyword, params, path), inBranch(1, 'type', { type: 'string' }, ''), union];
    expect(messagesOf(...reversed)).toEqual([...messages.toReversed(), 'must match one of the variants in its schema']);
  });

  test('a constant deeper than a member says nothing of what was meant', () => {
    const errors = [
      inBranch(0, 'const', { allowedValue: 'a' }, '/a/b'),
      inBranch(1, 'const', { allowedValue: 'b' }, '/a/b'),
      union,
    ];
    expect(messagesOf(...errors)).toEqual([
      '/a/b must be "a"',
      '/a/b must be "b"',
      'must match one of the variants in its schema',
    ]);
  });

  test('the constants are listed where none was meant and all are of one place', () => {
    const errors = [
      inBranch(0, 'const', { allowedValue: 'a' }, '/kind'),
      inBranch(0, 'required', { missingProperty: 'x' }, ''),
      inBranch(1, 'enum', { allowedValues: ['b', 'c'] }, '/kind'),
      union,
      fault('not', {}, { instancePath: '/other', schemaPath: '#/properties/other/not' }),
    ];
    expect(messagesOf(...errors)).toEqual([
      '/kind must be one of "a", "b", "c"',
      '/other must not match what its schema excludes',
    ]);
  });

  test('all is reported where constants are of several places', () => {
    const errors = [
      inBranch(0, 'const', { allowedValue: 'a' }, '/kind'),
      inBranch(1, 'const', { allowedValue: 'b' }, '/sort'),
      union,
    ];
    expect(messagesOf(...errors)).toEqual([
      '/kind must be "a"',
      '/sort must be "b"',
      'must match one of the variants in its schema',
    ]);
  });

  test('a single variant is reported as it is', () => {
    expect(messagesOf(inBranch(0, 'required', { missingProperty: 'x' }, ''), union)).toEqual([
      "lacks the property 'x'",
      'must match one of the variants in its schema',
    ]);
  });

  test('what stands elsewhere is left alone', () => {
    const elsewhere = fault(
      'const',
      { allowedValue: 'z' },
      { schemaPath: '#/anyOfOther/0/const', instancePath: '/kind' },
    );
    expect(
      messagesOf(
        inBranch(0, 'const', { allowedValue: 'a' }, '/kind'),
        inBranch(1, 'const', { allowedValue: 'b' }, '/kind'),
        elsewhere,
        union,
      ),
    ).toEqual(['/kind must be one of "a", "b"', '/kind must be "z"']);
  });

  test('a oneOf that two variants pass is no choice', () => {
    const both = fault('oneOf', { passingSchemas: [0, 1] }, { schemaPath: '#/oneOf' });
    const inside = fault('const', { allowedValue: 'a' }, { schemaPath: '#/oneOf/2/const', instancePath: '/kind' });
    expect(messagesOf(inside, both)).toEqual([
      '/kind must be "a"',
      'must match one of the variants in its schema, and no other',
    ]);
  });
});
