import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { createAjv } from '../../src/schema/create-ajv.ts';

const draft = 'https://json-schema.org/draft/2020-12/schema';

async function faultsOf(schema: object, value: JsonValue, isBare = false): Promise<string[]> {
  const check = (await createAjv({}, isBare)).compile(schema);
  return check(value) ? [] : (check.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
}

test('all that is wrong is found, not only the first of it', async () => {
  const schema = { properties: { a: { type: 'string' }, b: { minimum: 1 } }, required: ['c'] };
  expect(await faultsOf(schema, { a: 1, b: 0 })).toEqual([' required', '/a type', '/b minimum']);
});

test('what every object inherits is no property of a value', async () => {
  expect(await faultsOf({ required: ['constructor'] }, {})).toEqual([' required']);
  expect(await faultsOf({ properties: { toString: { type: 'string' } } }, {})).toEqual([]);
});

test.each([true, false])('unknown keywords and formats say nothing (bare: %s)', async (isBare) => {
  expect(await faultsOf({ cas_type: 'content', 'x-y': 1, format: 'no-such-format' }, 'a', isBare)).toEqual([]);
});

test.each([true, false])('a node hash is a format of texts (bare: %s)', async (isBare) => {
  const schema = { format: 'cas_ref' };
  expect(await faultsOf(schema, 'EYHPV6X8XHTCS', isBare)).toEqual([]);
  expect(await faultsOf(schema, 'eyhpv6x8xhtcs', isBare)).toEqual([' format']);
  expect(await faultsOf(schema, 1, isBare)).toEqual([]);
});

test('the standard formats and the draft are known, but not to a bare validator', async () => {
  expect(await faultsOf({ format: 'date' }, '2026-13-01')).toEqual([' format']);
  expect(await faultsOf({ format: 'date' }, '2026-13-01', true)).toEqual([]);
  expect(await faultsOf({ $ref: draft }, { type: 'text' })).not.toEqual([]);
  await expect(faultsOf({ $ref: draft }, { type: 'text' }, true)).rejects.toThrow(draft);
});

test('a schema is checked against the draft, but not by a bare validator', async () => {
  await expect(faultsOf({ maximum: '1' }, 1)).rejects.toThrow('schema is invalid');
  const bare = await createAjv({}, true);
  expect(() => bare.compile({ properties: { a: { title: 1 } } })).not.toThrow();
});

test('by itself it is not bare, and says nothing of what it does', async () => {
  const ajv = await createAjv();
  expect(ajv.getSchema(draft)).toBeTypeOf('function');
  expect(ajv.opts.logger).toBe(false);
});

test('a part that many references name is compiled in one place', async () => {
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, { $ref: '#/$defs/part' }]));
  const ajv = await createAjv({ source: true });
  const check = ajv.compile({ $defs: { part: { minLength: 12_345 } }, properties });
  expect(check.source?.validateCode).toContain('p19');
  expect(check.source?.validateCode).not.toContain('12345');
});
