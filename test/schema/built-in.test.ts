import { beforeAll, describe, expect, test } from 'vitest';
import { CONTENT_TYPE, META_SCHEMA } from '../../src/cas/node-hash.ts';
import { hashNode, isNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { decodeNode, encodeNode, MemorySource } from '../../src/cas/node.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import {
  builtIn,
  builtInSchema,
  encodeBuiltIn,
  encodeBuiltIns,
  typeNameOf,
  typeNames,
} from '../../src/schema/built-in.ts';
import type { TypeName } from '../../src/schema/built-in.ts';
import { subschemas } from '../../src/schema/typed-schema.ts';
import { refs } from '../../src/schema/links.ts';
import { validate } from '../../src/schema/validate.ts';
import { compileSchema } from '../../src/schema/validator.ts';
import { validateAgainst } from '../../src/schema/validate-against.ts';
import { sampleNodes } from './sample-nodes.ts';
import type { Sample } from './sample-nodes.ts';

beforeAll(prepareHashing);

describe('the built-in types', () => {
  test('have the meta-schema, which is its own type, and content at the hashes the node codec knows', () => {
    expect(hashNode(META_SCHEMA, builtInSchema('meta-schema'))).toBe(META_SCHEMA);
    expect(encodeBuiltIn('content').hash).toBe(CONTENT_TYPE);
    expect(encodeBuiltIns().every(({ type }) => type === META_SCHEMA)).toBe(true);
  });

  test.each(typeNames)('%s is found by its hash and can be read back', (name) => {
    expect(typeNameOf(builtIn[name])).toBe(name);
    const node = encodeBuiltIn(name);
    expect(decodeNode(node.hash, node.blob).payload).toEqual(builtInSchema(name));
  });

  test.each(typeNames)('%s is a schema, titled by its name, and closed if it is no schema of schemas', async (name) => {
    const schema = builtInSchema(name);
    await expect(compileSchema(schema)).resolves.toBeTypeOf('function');
    expect(schema['title']).toBe(name);
    expect(await validateAgainst(builtInSchema('meta-schema'), schema)).toEqual([]);
    const isOpen = ['meta-schema', 'role-schema'].includes(name);
    expect(schema['additionalProperties']).toBe(isOpen ? undefined : false);
  });

  test.each(typeNames)('%s names only types that exist as what its links lead to', (name) => {
    for (const { schema: part } of subschemas(builtInSchema(name))) {
      const types = [part['cas_type'] ?? []].flat();
      expect(types.filter((type) => !Object.hasOwn(builtIn, JSON.stringify(type).slice(1, -1)))).toEqual([]);
    }
  });
});

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

/** For each type: how to spoil a good payload so that its schema refuses it. */
const spoilt: Record<TypeName, (payload: JsonObject) => JsonValue> = {
  'meta-schema': () => ({ type: 'nothing' }),
  'role-schema': () => ({ properties: 1 }),
  agent: (payload) => ({ ...payload, config: null }),
  role: (payload) => without(payload, 'schema'),
  workflow: (payload) => ({ ...payload, name: 'Not A Name' }),
  'thread-start': (payload) => ({ ...payload, id: '01ktwewz760000000000000000' }),
  'thread-step': (payload) => ({ ...payload, number: 0 }),
  'thread-suspend': (payload) => ({ ...payload, cause: 'tired' }),
  'thread-resume': (payload) => ({ ...payload, answer: 'yes' }),
  'thread-end': (payload) => ({ ...payload, outcome: 'done' }),
  content: (payload) => ({ ...payload, text: 1 }),
  'react-session': (payload) => ({ ...payload, totalTokens: 1.5 }),
  'react-turn': (payload) => ({ ...payload, tokens: { input: 1 } }),
  'react-tool-call': (payload) => ({ ...payload, arguments: {} }),
  attempt: (payload) => without(payload, 'usage'),
  artifact: (payload) => ({ ...payload, oid: 'HEAD' }),
};

describe('of each built-in type', () => {
  // Hashing has to be prepared before samples can be made, so they are made within the tests.
  const sampleOf = (name: TypeName): { sample: Sample; source: MemorySource } => {
    const samples = sampleNodes();
    const sample = samples.find((candidate) => candidate.name === name);
    if (sample === undefined) throw new Error(`there is no sample of ${name}`);
    return { sample, source: new MemorySource([...samples.map(({ node }) => node), ...encodeBuiltIns()]) };
  };

  test.each(typeNames)('a good node validates: %s', async (name) => {
    const { sample, source } = sampleOf(name);
    expect(await validate(source, sample.node)).toEqual({ valid: true, errors: [] });
    expect(await validate(source, sample.node.hash)).toEqual({ valid: true, errors: [] });
  });

  test.each(typeNames)('a spoilt node is refused: %s', async (name) => {
    const { sample, source } = sampleOf(name);
    // All samples are objects.
    const payload = spoilt[name](sample.node.payload as JsonObject);
    const result = await validate(source, { type: sample.node.type, payload });
    expect(result.valid).toBe(false);
    expect(result.errors.length).toBeGreaterThan(0);
  });

  test.each(typeNames.filter((name) => !name.endsWith('-schema')))('a field too many is refused: %s', async (name) => {
    const { sample, source } = sampleOf(name);
    // As above.
    const payload = { ...(sample.node.payload as JsonObject), extra: 1 };
    expect(await validate(source, { type: sample.node.type, payload })).toEqual({
      valid: false,
      errors: [{ path: '', message: "must not have the property 'extra'" }],
    });
  });

  test.each(typeNames)('refs() gives exactly the links: %s', async (name) => {
    const { sample, source } = sampleOf(name);
    expect(sample.links.every(isNodeHash)).toBe(true);
    expect(new Set(await refs(source, sample.node))).toEqual(new Set(sample.links));
    expect(await refs(source, sample.node.hash)).toHaveLength(new Set(sample.links).size);
  });

  test.each(typeNames)('every link that is cut is reported: %s', async (name) => {
    const { sample } = sampleOf(name);
    const samples = sampleNodes();
    for (const link of new Set(sample.links)) {
      // What leads to the schema of a step's meta has to be there for the links of the meta to be known.
      if (
        name === 'thread-step' &&
        typeNameOf(samples.find(({ node }) => node.hash === link)?.node.type ?? link) === 'thread-start'
      )
        continue;
      const rest = new MemorySource(samples.filter(({ node }) => node.hash !== link).map(({ node }) => node));
      const { errors } = await validate(rest, sample.node);
      expect(errors.map(({ message }) => message).join()).toContain(link);
    }
  });
});

test('a node that is stored and encoded again keeps its hash', () => {
  for (const { node } of sampleNodes())
    expect(encodeNode(node.type, decodeNode(node.hash, node.blob).payload).hash).toBe(node.hash);
});
