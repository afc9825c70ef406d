import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { extractReply } from '../../../src/agent/extract/extract-reply.ts';
import { exampleReplies, formatInstruction } from '../../../src/agent/extract/format-instruction.ts';
import type { JsonObject } from '../../../src/json.ts';

const review: JsonObject = {
  oneOf: [
    { properties: { $status: { const: 'approved' } }, required: ['$status'] },
    {
      properties: {
        $status: { const: 'rejected' },
        reason: { type: 'string', description: 'what to change' },
        severity: { type: 'integer', minimum: 2, maximum: 5 },
      },
      required: ['$status', 'reason'],
    },
  ],
};

test('the instruction lists the fields and shows one example for each variant', async () => {
  expect(await formatInstruction(review))
    .toBe(`Begin your reply with front matter: a line ---, the fields as YAML, a line ---. Then comes your text, in Markdown.
Put a value into double quotes where it holds ': ' or ' #'.

Fields:

- $status (required): approved or rejected
- reason (required with $status rejected): text: what to change
- severity (optional): integer from 2 up to 5

Example:

---
$status: approved
---
What you have to say, in Markdown.

Or:

---
$status: rejected
reason: text
---
What you have to say, in Markdown.

If you cannot go on without an answer from a person:

---
$status: $SUSPEND
reason: what you need to know
---
`);
});

test('a branch that fixes one of the statuses that the schema lists has that one alone', async () => {
  const $status = { enum: ['approved', 'rejected'] };
  const instruction = await formatInstruction({ properties: { $status }, required: ['$status'], ...review });
  expect(instruction).toContain('- reason (required with $status rejected): text');
});

describe('examples', () => {
  test.each<[string, JsonObject, string[]]>([
    [
      'each value of $status',
      { properties: { $status: { enum: ['passed', 'failed'] } }, required: ['$status'] },
      ['$status: passed\n', '$status: failed\n'],
    ],
    ['optional fields, where there are no others', { properties: { words: { type: 'integer' } } }, ['words: 1\n']],
    [
      'constants, examples, defaults and choices',
      {
        required: ['a', 'b', 'c', 'd'],
        properties: { a: { const: 'x' }, b: { examples: ['y'] }, c: { default: 3 }, d: { enum: ['z', 'w'] } },
      },
      ['a: x\nb: y\nc: 3\nd: z\n'],
    ],
    [
      'references',
      {
        $defs: {
          phase: { type: 'object', properties: { hash: { type: 'string', format: 'cas_ref' } }, required: ['hash'] },
        },
        properties: { phases: { type: 'array', items: { $ref: '#/$defs/phase' } } },
        required: ['phases'],
      },
      ['phases: [{"hash":"0123456789ABC"}]\n'],
    ],
    [
      'a reference at the top',
      {
        $ref: '#/$defs/reply',
        $defs: { reply: { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] } },
      },
      ['a: true\n'],
    ],
    [
      'allOf merged',
      {
        allOf: [
          { properties: { a: { const: 1 } }, required: ['a'] },
          { properties: { b: { const: 2 } }, required: ['b'] },
        ],
      },
      ['a: 1\nb: 2\n'],
    ],
    ['a nullable field', { properties: { a: { type: ['null', 'string'] } }, required: ['a'] }, ['a: text\n']],
  ])('show %s', async (_, schema, fields) => {
    expect(await exampleReplies(schema)).toEqual(
      fields.map((yaml) => `---\n${yaml}---\nWhat you have to say, in Markdown.\n`),
    );
  });

  test.each<[string, JsonObject]>([
    ['a pattern', { properties: { a: { type: 'string', pattern: '^[0-9]{4}$' } }, required: ['a'] }],
    ['a schema that allows nothing', { properties: { a: false }, required: ['a'] }],
    [
      'a reference to itself',
      {
        $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
        $ref: '#/$defs/a',
      },
    ],
  ])('are left out where none can be made: %s', async (_, schema) => {
    expect(await exampleReplies(schema)).toEqual([]);
    expect(await formatInstruction(schema)).toContain('- a (required)');
  });

  test('satisfy the schema, one for each of its variants', async () => {
    const bounds = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 0, max: 20 }));
    const leaf = fc.oneof(
      fc.constantFrom<JsonObject>({ type: 'string' }, { type: 'boolean' }, { type: 'null' }, { type: 'number' }, {}),
      fc
        .constantFrom(
          'date',
          'date-time',
          'uri',
          'uuid',
          'email',
          'cas_ref',
          'time',
          'ipv4',
          'ipv6',
          'hostname',
          'duration',
        )
        .map((format): JsonObject => ({ type: 'string', format })),
      fc
        .nat(40)
        .chain((minLength) =>
          fc.nat(5).map((more): JsonObject => ({ type: 'string', minLength, maxLength: minLength + more })),
        ),
      bounds.map(([minimum, range]): JsonObject => ({ type: 'integer', minimum, maximum: minimum + range })),
      bounds.map(([exclusiveMinimum, range]): JsonObject => ({
        type: 'integer',
        exclusiveMinimum,
        exclusiveMaximum: exclusiveMinimum + range + 2,
      })),
      bounds.map(([exclusiveMinimum, range]): JsonObject => ({
        type: 'number',
        exclusiveMinimum,
        exclusiveMaximum: exclusiveMinimum + range + 1,
      })),
      fc.integer({ min: 1, max: 9 }).map((multipleOf): JsonObject => ({ type: 'integer', minimum: 10, multipleOf })),
      fc.nat(9999).map((cents): JsonObject => ({ type: 'number', minimum: cents / 100, multipleOf: 0.01 })),
      fc.jsonValue({ maxDepth: 1 }).map((value): JsonObject => ({ const: JSON.parse(JSON.stringify(value)) })),
      fc.uniqueArray(fc.string(), { minLength: 1 }).map((values): JsonObject => ({ enum: values })),
    );
    const { value } = fc.letrec<{ value: JsonObject; object: JsonObject }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        leaf,
        tie('value').chain((items) =>
          fc.nat(3).map((minItems): JsonObject => ({ type: 'array', items, minItems, maxItems: minItems + 1 })),
        ),
        fc
          .array(tie('value'), { minLength: 1, maxLength: 3 })
          .map((prefixItems): JsonObject => ({ type: 'array', prefixItems, items: false })),
        tie('value').map((other): JsonObject => ({ anyOf: [other, { type: 'null' }] })),
        tie('object'),
      ),
      object: fc
        .dictionary(fc.string({ minLength: 1 }), tie('value'), { maxKeys: 4, noNullPrototype: true })
        .map((properties): JsonObject => ({
          type: 'object',
          properties,
          required: Object.keys(properties),
          additionalProperties: false,
        })),
    }));
    const shapes = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,6}$/u),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/u), value, { maxKeys: 4, noNullPrototype: true }),
      { minKeys: 1, maxKeys: 4, noNullPrototype: true },
    );

    await fc.assert(
      fc.asyncProperty(shapes, async (properties) => {
        const oneOf = Object.entries(properties).map(([status, fields]) => ({
          type: 'object',
          properties: { $status: { const: status }, ...fields },
          required: ['$status', ...Object.keys(fields)],
          additionalProperties: false,
        }));
        const schema: JsonObject = { oneOf };
        const examples = await exampleReplies(schema);
        expect(examples).toHaveLength(oneOf.length);
        for (const example of examples) expect(await extractReply(example, schema)).toMatchObject({ kind: 'ok' });
        const instruction = await formatInstruction(schema);
        for (const example of examples) expect(instruction).toContain(example);
      }),
      { numRuns: 60 },
    );
  });
});
