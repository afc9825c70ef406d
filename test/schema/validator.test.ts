import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { ValidationTimeout } from '../../src/schema/time-box.ts';
import { compileSchema } from '../../src/schema/validator.ts';
import { InvalidSchema, SchemaViolation } from '../../src/schema/schema-error.ts';
import { validateAgainst } from '../../src/schema/validate-against.ts';

describe('a value', () => {
  test.each<[string, JsonValue, JsonValue, boolean]>([
    ['prefixItems and items (2020-12)', { prefixItems: [{ type: 'string' }], items: false }, ['a', 1], false],
    [
      'unevaluatedProperties (2020-12)',
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1 },
      true,
    ],
    ['dependentSchemas', { dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }, false],
    ['a recursive reference', { properties: { next: { $ref: '#' } }, required: ['id'] }, { id: 1, next: {} }, false],
    ['a format', { format: 'date-time' }, '2026-11-21', false],
    ['a format', { format: 'date-time' }, '2026-11-21T00:00:00Z', true],
    ['a node hash', { format: 'cas_ref' }, 'EYHPV6X8XHTCS', true],
    ['a node hash', { format: 'cas_ref' }, 'eyhpv6x8xhtcs', false],
    ['an unknown format, which says nothing', { format: 'no-such-format' }, 'a', true],
    ['unknown keywords, which say nothing', { 'x-uwf-record': true, cas_type: 'content' }, 1, true],
    ['a property every object inherits', { required: ['constructor'] }, {}, false],
    ['a boolean schema', false, 1, false],
    ['the meta-schema of the draft', { $ref: 'https://json-schema.org/draft/2020-12/schema' }, { type: 'text' }, false],
  ])('is checked against %s', async (_, schema, value, isValid) => {
    expect((await validateAgainst(schema, value)).length === 0).toBe(isValid);
  });

  test('is not changed by being checked', async () => {
    const value = { n: '1' };
    await validateAgainst({ properties: { n: { type: 'number' }, d: { default: 1 } } }, value);
    expect(value).toEqual({ n: '1' });
  });
});

/** A schema that applies twice as many parts to a value with each further one. */
function doubling(times: number): JsonValue {
  const parts = Array.from({ length: times }, (_, place) => {
    const next = { $ref: `#/$defs/a${place + 1}` };
    return [`a${place}`, { allOf: [next, next] }];
  });
  return { $ref: '#/$defs/a0', $defs: { ...Object.fromEntries(parts), [`a${times}`]: { type: 'string' } } };
}

function chain(length: number): JsonValue {
  const parts = Array.from({ length }, (_, place) => [`a${place}`, { $ref: `#/$defs/a${place + 1}` }]);
  return { $ref: '#/$defs/a0', $defs: { ...Object.fromEntries(parts), [`a${length}`]: { type: 'string' } } };
}

test('a part that many references name is compiled once', async () => {
  const many = (count: number, part: (place: number) => JsonValue): Record<string, JsonValue> =>
    Object.fromEntries(Array.from({ length: count }, (_, place) => [`p${place}`, part(place)]));
  const large = { properties: many(300, (place) => ({ type: 'string', minLength: place })) };
  const schema = { $defs: { large }, properties: many(200, () => ({ $ref: '#/$defs/large' })) };
  // Compiled at each place it takes a minute and gigabytes.
  expect(await validateAgainst(schema, { p0: { p5: 'abc' } })).toHaveLength(1);
});

test('a value too deep for the stack is wrong', async () => {
  const parts = Array.from({ length: 30 }, (_, place) => {
    const next = { anyOf: [{ $ref: `#/$defs/a${place + 1}` }], minItems: 0 };
    return [`a${place}`, { allOf: [next], maxItems: 9 }];
  });
  const last = { type: 'array', items: { $ref: '#/$defs/a0' } };
  const schema = { $ref: '#/$defs/a0', $defs: { ...Object.fromEntries(parts), a30: last } };
  let value: JsonValue = [];
  // Overflows the stack of the main thread, and the larger one of a worker.
  for (let depth = 0; depth < 10_000; depth++) value = [value];
  expect(await validateAgainst(schema, value)).toEqual([{ path: '', message: expect.stringContaining('too deep') }]);
  expect(await validateAgainst(schema, [[[]]])).toEqual([]);
});

describe('a schema is refused', () => {
  test.each<[string, JsonValue]>([
    ['that is no object', 'string'],
    ['that is a list', []],
    ['with a type that does not exist', { type: 'text' }],
    ['with a pattern that does not compile', { pattern: '(' }],
    ['that leads elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['that leads elsewhere from a part', { properties: { x: { items: { $ref: 'other.json#/x' } } } }],
    ['that leads nowhere', { $ref: '#/$defs/none' }],
    ['of an older draft', { $schema: 'http://json-schema.org/draft-07/schema#' }],
    ['that takes an address for a part', { $defs: { x: { $id: 'https://example.com/x' } } }],
    ['that is itself', { $ref: '#' }],
    ['that is itself by a dynamic reference', { $dynamicAnchor: 'a', $dynamicRef: '#a' }],
    ['that is itself by a recursive reference', { $recursiveRef: '#' }],
    ['that leads elsewhere by a recursive reference', { $recursiveRef: 'x' }],
    [
      'with parts that are each other',
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
    ],
    [
      'with a part that nothing names yet and that is itself',
      { properties: { a: { anyOf: [true, { $ref: '#/properties/a' }] } } },
    ],
    ['that is itself for objects with a property', { dependentSchemas: { a: { if: { $ref: '#' } } } }],
    ['that doubles thirty times', doubling(30)],
    [
      'that has more parts than are compiled',
      { anyOf: Array.from({ length: 2500 }, (_, place) => ({ const: place })) },
    ],
    ['with a chain of references that is too long', chain(300)],
    ['with a choice among too many', { oneOf: Array.from({ length: 2500 }, () => ({ type: 'string' })) }],
  ])('%s', async (_, schema) => {
    await expect(compileSchema(schema)).rejects.toThrow(InvalidSchema);
  });

  test('but not for references that are data', async () => {
    const schema = { const: { $ref: 'elsewhere' }, properties: { $ref: { type: 'string' } } };
    await expect(compileSchema(schema)).resolves.toBeTypeOf('function');
  });
});

test('the same schema is compiled once', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  expect(await compileSchema({ properties: { a: { type: 'string' } }, type: 'object' })).toBe(
    await compileSchema(schema),
  );
});

test('two schemas may carry the same $id', async () => {
  const $id = 'https://example.com/same';
  expect(await validateAgainst({ $id, type: 'string' }, 1)).toHaveLength(1);
  expect(await validateAgainst({ $id, type: 'number' }, 1)).toHaveLength(0);
});

test('a pattern that backtracks for ever is stopped', async () => {
  const check = validateAgainst({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(60)}!`);
  await expect(check).rejects.toThrow(ValidationTimeout);
});

describe('what is wrong is said', () => {
  const reply = {
    oneOf: [
      { properties: { $status: { const: 'done' }, files: { type: 'integer' } }, required: ['$status', 'files'] },
      { properties: { $status: { const: 'stuck' }, why: { type: 'string' } }, required: ['$status', 'why'] },
    ],
  };

  test.each<[string, JsonValue, JsonValue, string[]]>([
    ['by place', { properties: { a: { items: { type: 'string' } } } }, { a: ['x', 1] }, ['/a/1 must be a string']],
    ['by the name of what is missing', { required: ['a'] }, {}, [" lacks the property 'a'"]],
    ['with the right article', { type: ['integer', 'null'] }, 'x', [' must be an integer or null']],
    [
      'by the name of what goes along',
      { dependentRequired: { a: ['b'] } },
      { a: 1 },
      [" lacks the property 'b', which 'a' needs"],
    ],
    ['in plain words', { minItems: 2 }, ['a'], [' must have at least 2 items']],
    ['in plain words', { minProperties: 1 }, {}, [' must have at least 1 property']],
    [
      'in plain words',
      { uniqueItems: true },
      ['a', 'b', 'a'],
      [' must not have the same item twice (items 0 and 2, from 0)'],
    ],
    ['in plain words', { exclusiveMaximum: 3 }, 3, [' must be less than 3']],
    ['in plain words', { pattern: '^a' }, 'b', [" must match the pattern '^a'"]],
    ['in plain words', { not: {} }, 1, [' must not match what its schema excludes']],
    ['in plain words', { anyOf: [{ type: 'string' }, { minimum: 3 }] }, 1, [' must be 3 or more']],
    ['by the name of what is too much', { additionalProperties: false }, { a: 1 }, [" must not have the property 'a'"]],
    ['with the values there are', { enum: ['a', 1, null] }, 'b', [' must be one of "a", 1, null']],
    ['with the value there is', { const: { a: 1 } }, 'b', [' must be {"a":1}']],
    [
      'for all mistakes at once',
      { properties: { a: { minimum: 1 }, b: { maxLength: 1 } } },
      { a: 0, b: 'xx' },
      ['/a must be 1 or more', '/b must have at most 1 character'],
    ],
    ['of the variant that was meant', reply, { $status: 'done', files: 'x' }, ['/files must be an integer']],
    ['of the variant that was meant', reply, { $status: 'stuck' }, [" lacks the property 'why'"]],
    ['of all variants if none was meant', reply, { $status: 'lost' }, ['/$status must be one of "done", "stuck"']],
    [
      'of null or an object, if it is an object',
      { anyOf: [{ type: 'object', required: ['a'] }, { type: 'null' }] },
      {},
      [" lacks the property 'a'"],
    ],
  ])('%s', async (_, schema, value, lines) => {
    const errors = await validateAgainst(schema, value);
    expect(errors.map(({ path, message }) => `${path} ${message}`)).toEqual(lines);
  });

  test('of a union in a union', async () => {
    const nested = { properties: { inner: reply }, anyOf: [{ required: ['inner'] }, { required: ['x'] }] };
    const errors = await validateAgainst({ anyOf: [nested, { type: 'null' }] }, { inner: { $status: 'done' } });
    expect(errors).toEqual([{ path: '/inner', message: "lacks the property 'files'" }]);
  });

  test('at most fifty times', async () => {
    const errors = await validateAgainst(
      { items: { type: 'string' } },
      Array.from({ length: 100 }, () => 1),
    );
    expect(errors).toHaveLength(50);
  });

  test('in the message of an error, the first five', () => {
    const errors = ['/a', '/b', '/c', '/d', '/e', '/f'].map((path) => ({ path, message: 'must be x' }));
    expect(new SchemaViolation('meta', errors).message).toMatch(
      /^meta does not match its schema: \/a must be x; .*; and 1 more$/,
    );
  });
});

describe('values are compared', () => {
  test.each([
    ['const', { const: { a: 1, b: [2] } }],
    ['enum', { enum: ['x', { a: 1, b: [2] }] }],
  ])('by %s', async (_keyword, schema) => {
    expect(await validateAgainst(schema, { b: [2], a: 1 })).toEqual([]);
    expect(await validateAgainst(schema, { a: 1, b: [3] })).toHaveLength(1);
  });

  test('by uniqueItems', async () => {
    const unique = { uniqueItems: true };
    expect(await validateAgainst(unique, [0, '0', [0], { a: 1, b: 2 }])).toEqual([]);
    expect(await validateAgainst(unique, [{ a: 1, b: 2 }, 1, { b: 2, a: 1 }])).toHaveLength(1);
  });

  test('by multipleOf, as decimals', async () => {
    for (const value of [19.99, 64.99]) expect(await validateAgainst({ multipleOf: 0.01 }, value)).toEqual([]);
    expect(await validateAgainst({ multipleOf: 0.01 }, 19.995)).toHaveLength(1);
  });

  test.each(['valueOf', 'toString'])('unless an object has a property %s', async (name) => {
    const [first, second] = [{ [name]: 0 }, { [name]: 1 }];
    for (const schema of [{ const: first }, { enum: [first] }]) {
      expect(await validateAgainst(schema, second)).toEqual([
        { path: '', message: expect.stringContaining('cannot be compared') },
      ]);
    }
  });

  test('with the errors that are known', async () => {
    expect(await validateAgainst({ properties: { a: { const: 1 } } }, { a: 2 })).toEqual([
      { path: '/a', message: 'must be 1' },
    ]);
    const variants = { oneOf: [{ properties: { s: { const: 'a' } } }, { properties: { s: { enum: ['b', 'c'] } } }] };
    expect(await validateAgainst(variants, { s: 'x' })).toEqual([
      { path: '/s', message: 'must be one of "a", "b", "c"' },
    ]);
  });
});
