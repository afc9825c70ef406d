import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { DIALECT } from '../../../src/schema/built-in/schema-parts.ts';
import { isPlainSchema, isSurelyValid } from '../../../src/schema/json-schema/plain-schema.ts';
import { assertSchema, validateAgainst } from '../../../src/schema/json-schema/validate-against.ts';
import { compileSchema } from '../../../src/schema/json-schema/validator.ts';

/** Values of keywords, right and wrong ones, and values to check. */
const value = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1, -1, 1.5, 2, '', 'a', 'ab', '😀', 'x'),
    fc.constantFrom<JsonValue>('EYHPV6X8XHTCS', 'type', 'const', 'constructor', 'toString'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'x', 'type', 'constructor', 'toString', 'valueOf'), tie('any'), { maxKeys: 3 }),
  ),
})).any;

const typeName = fc.constantFrom('null', 'boolean', 'integer', 'number', 'string', 'array', 'object');

/** A schema of a keyword or some: mostly ones that a plain schema may have. */
const schema = fc.letrec<{ any: JsonValue; object: JsonObject }>((tie) => {
  const part = tie('any');
  const keywords: Record<string, fc.Arbitrary<JsonValue>> = {
    title: fc.constant('a title'),
    default: value,
    type: fc.oneof(typeName, fc.uniqueArray(typeName, { maxLength: 3 }), fc.constantFrom('text', '', 'Object')),
    const: value,
    enum: fc.oneof(fc.array(value, { maxLength: 4 }), fc.constant('a')),
    format: fc.constantFrom('cas_ref', 'date', 'nothing'),
    minLength: fc.constantFrom<JsonValue>(0, 1, 2, -1, 1.5, '1'),
    minItems: fc.constantFrom<JsonValue>(0, 1, 2, -1, null),
    maxLength: fc.constantFrom<JsonValue>(0, 1, 2, -1, 1.5, '1'),
    maxItems: fc.constantFrom<JsonValue>(0, 1, 2, -1, null),
    minProperties: fc.constantFrom<JsonValue>(0, 1, 2, -1, '1'),
    minimum: fc.constantFrom<JsonValue>(0, 1, 1.5, -1, '1'),
    maximum: fc.constantFrom<JsonValue>(0, 1, 1.5, -0, null),
    exclusiveMinimum: fc.constantFrom<JsonValue>(0, 1, 1.5, true),
    uniqueItems: fc.constantFrom<JsonValue>(true, false, 1),
    propertyNames: part,
    cas_type: fc.constantFrom<JsonValue>('EYHPV6X8XHTCS', ['EYHPV6X8XHTCS', 'x'], [], 5),
    anyOf: fc.array(part, { maxLength: 3 }),
    $schema: fc.constantFrom(DIALECT, 'http://json-schema.org/draft-07/schema#'),
    'x-uwf-path': value,
    required: fc.oneof(fc.uniqueArray(fc.constantFrom('a', 'x', 'constructor'), { maxLength: 2 }), value),
    properties: fc.dictionary(fc.constantFrom('a', 'x', 'toString', '__proto__'), part, { maxKeys: 3 }),
    additionalProperties: part,
    items: part,
    oneOf: fc.array(part, { maxLength: 3 }),
    not: part,
    $ref: fc.constantFrom('#', '#/properties/a', 'https://elsewhere.example'),
    pattern: fc.constantFrom('^a$', '^[a-z]{1,2}$', '^(?:a|[b-c]+|x{2})$', '^[z-a]$', '^a', '(', '(a+)+$'),
  };
  const object = fc
    .array(fc.oneof(...Object.entries(keywords).map(([key, its]) => fc.tuple(fc.constant(key), its))), { maxLength: 4 })
    .map((entries): JsonObject => Object.fromEntries(entries));
  return { object, any: fc.oneof({ depthSize: 'small' }, fc.boolean(), object) };
}).object;

describe('a plain schema', () => {
  test('is one that compiles, and its values are those that ajv accepts', async () => {
    let plain = 0;
    await fc.assert(
      fc.asyncProperty(schema, fc.array(value, { maxLength: 8 }), async (one, values) => {
        if (!isPlainSchema(one)) return;
        plain += 1;
        const check = await compileSchema(one);
        for (const each of values) expect(isSurelyValid(one, each)).toBe(check(each).length === 0);
      }),
      { numRuns: 3000 },
    );
    expect(plain).toBeGreaterThan(300);
  });

  test.each<[JsonValue]>([
    [{ type: 'object', properties: { $status: { const: 'done' } }, required: ['$status'] }],
    [{ properties: { words: { type: 'integer', description: 'how many', default: 0 } }, additionalProperties: false }],
    [{ oneOf: [{ properties: { $status: { enum: ['a', 'b'] } } }, { type: ['string', 'null'], minLength: 1 }] }],
    [{ pattern: '^(?:[0-9a-f]{40}|[0-9a-f]{64})$' }],
    [
      {
        $schema: DIALECT,
        anyOf: [
          { type: 'number', minimum: 0.5 },
          { uniqueItems: true, maxItems: 2 },
        ],
      },
    ],
    [{ items: { format: 'cas_ref', cas_type: 'EYHPV6X8XHTCS', title: 'a node' }, minItems: 1 }],
  ])('is %j', (one) => {
    expect(isPlainSchema(one)).toBe(true);
  });

  test.each<[string, JsonValue]>([
    ['a keyword that it does not know', { type: 'string', not: { const: 'a' } }],
    ['a pattern that may take long', { pattern: '^([a-z]+)+$' }],
    ['a pattern with two parts that compete', { pattern: '^[a-z]+[a-z]{1,9}$' }],
    ['a pattern that does not compile', { pattern: '^[z-a]$' }],
    ['a pattern of a part of a text', { pattern: 'a' }],
    ['a form that the draft does not have', { type: 'text' }],
    ['the same name twice', { required: ['a', 'a'] }],
    ['a constant that is compared member by member', { const: { a: 1 } }],
    ['a text that makes it large', { description: 'x'.repeat(30_000) }],
    ['schemas many levels deep', Array.from({ length: 20 }).reduce<JsonObject>((items) => ({ items }), {})],
    ['a property that ajv treats in its own way', { properties: Object.fromEntries([['__proto__', {}]]) }],
  ])('has not %s', (_what, one) => {
    expect(isPlainSchema(one)).toBe(false);
  });

  test('leaves the reasons of a refusal to ajv', async () => {
    const one: JsonObject = { properties: { a: { type: 'integer' } }, required: ['b'] };
    expect(await validateAgainst(one, { a: 1, b: 2 })).toEqual([]);
    expect(await validateAgainst(one, { a: 'x' })).toEqual([
      { path: '', message: "lacks the property 'b'" },
      { path: '/a', message: 'must be an integer' },
    ]);
    await expect(assertSchema({ type: 'text' })).rejects.toThrow('this is not a schema');
  });
});
