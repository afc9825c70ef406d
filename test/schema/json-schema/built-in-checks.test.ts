import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { build, type Plugin } from 'esbuild';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { isJsonObject, type JsonValue } from '../../../src/json.ts';
import { builtInSchema, typeNames } from '../../../src/schema/built-in.ts';
import { checkBuiltIn, validateAgainst } from '../../../src/schema/validate-against.ts';
import { compileSchema } from '../../../src/schema/validator.ts';
import { type Sample, sampleNodes } from '../sample-nodes.ts';

type Shipped = {
  checkBuiltIn: typeof checkBuiltIn;
  validateAgainst: typeof validateAgainst;
};

let shipped: Shipped['checkBuiltIn'];
let shippedValidate: Shipped['validateAgainst'];
/** What the shipped code has asked Node for. */
const loaded: string[] = [];
let samples: readonly Sample[];

beforeAll(async () => {
  await prepareHashing();
  samples = sampleNodes();
  // Plain JavaScript, part of the build.
  const script = new URL('../../../scripts/build/generated-checks.js', import.meta.url).href;
  const { generatedChecksPlugin } = (await import(script)) as { generatedChecksPlugin: Plugin };
  const { outputFiles } = await build({
    stdin: {
      contents: "export { checkBuiltIn, validateAgainst } from './validate-against.ts';",
      resolveDir: new URL('../../../src/schema', import.meta.url).pathname,
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    supported: { 'dynamic-import': false },
    write: false,
    plugins: [generatedChecksPlugin],
  });
  const module = { exports: {} };
  const requireHere = createRequire(import.meta.url);
  const require = (name: string): unknown => (loaded.push(name), requireHere(name));
  compileFunction(outputFiles[0]?.text ?? '', ['require', 'module', 'exports'])(require, module, module.exports);
  // What the entry exports.
  ({ checkBuiltIn: shipped, validateAgainst: shippedValidate } = module.exports as Shipped);
});

/** Copies of a value in which one place, or none, is something else. */
function damaged(value: JsonValue): fc.Arbitrary<JsonValue> {
  const anything = fc.oneof(
    fc.constantFrom<JsonValue>(null, true, -1, 1.5, 7, '', 'text', 'EYHPV6X8XHTCS', [], {}, [1], { more: 1 }),
    fc.constant(value),
  );
  if (Array.isArray(value)) {
    const items = value.map((item, index) => damaged(item).map((changed) => value.with(index, changed)));
    return fc.oneof(anything, ...items);
  }
  if (!isJsonObject(value)) return anything;
  const members = Object.entries(value).flatMap(([key, member]) => [
    damaged(member).map((changed) => ({ ...value, [key]: changed })),
    fc.constant(Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))),
  ]);
  return fc.oneof(anything, fc.constant({ ...value, unknown: 1 }), ...members);
}

describe('a check against a built-in schema', () => {
  test.each(typeNames)('says of a %s what ajv says, word for word', async (name) => {
    const check = await compileSchema(builtInSchema(name));
    const payloads = samples.filter((sample) => sample.name === name).map(({ node }) => node.payload);
    expect(payloads).not.toEqual([]);
    for (const payload of payloads) {
      expect(await shipped(name, payload)).toEqual([]);
      await fc.assert(
        fc.asyncProperty(damaged(payload), async (changed) => {
          expect(await shipped(name, changed)).toEqual(check(changed));
        }),
        { numRuns: 60 },
      );
    }
  });

  test('accepts without ajv what is right', async () => {
    const before = loaded.length;
    for (const { name, node } of samples) expect(await shipped(name, node.payload)).toEqual([]);
    expect(loaded.slice(before).filter((name) => name.startsWith('ajv'))).toEqual([]);
  });

  test.each<[string, JsonValue]>([
    ['an unknown type', { type: 'text' }],
    ['the same item twice', { type: 'object', required: ['b', 'a', 'a', 'b'] }],
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }],
    ['a draft that is no text', { $schema: 5 }],
    ['a member by the name of a method', { enum: [{ valueOf: 1 }], required: [{ toString: 1 }, { toString: 1 }] }],
    ['a wrong part deep inside', { properties: { a: { items: { allOf: [{ minimum: 'x' }] } } } }],
    ['a pattern that does not compile', { pattern: '(' }],
    ['no schema', 5],
  ])('says what ajv says of a schema with %s', async (_, schema) => {
    for (const name of ['meta-schema', 'role-schema'] as const) {
      expect(await shipped(name, schema)).toEqual(await checkBuiltIn(name, schema));
    }
  });
});

/** Values of which some fit each of the schemas. */
const values: readonly JsonValue[] = [
  null,
  1,
  'text',
  '2026-11-21',
  'EYHPV6X8XHTCS',
  { a: '2026-11-21' },
  { type: 'text' },
];

test.each<JsonValue>([
  { type: 'string', format: 'date' },
  { type: 'string', format: 'date', formatMinimum: '2027-01-01' },
  { type: 'string', format: 'cas_ref' },
  { anyOf: [{ format: 'cas_ref' }, { format: 'date' }] },
  { $ref: 'https://json-schema.org/draft/2020-12/schema' },
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    properties: { a: { $ref: '#/$defs/a' } },
    $defs: { a: { const: 1 } },
  },
  { $dynamicRef: '#node', $defs: { node: { $dynamicAnchor: 'node', type: 'string' } } },
  false,
])('a schema that the generated code accepts means the same: %j', async (schema) => {
  for (const value of values)
    expect(await shippedValidate(schema, value)).toEqual(await validateAgainst(schema, value));
});
