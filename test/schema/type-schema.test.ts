import { beforeAll, describe, expect, test } from 'vitest';
import { parseNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { type EncodedNode, encodeNode, MemorySource, NodeNotFound } from '../../src/cas/node.ts';
import type { JsonValue } from '../../src/json.ts';
import {
  builtIn,
  builtInSchema,
  encodeBuiltIn,
  encodeBuiltIns,
  isThreadType,
  typeNameOf,
  typeNames,
} from '../../src/schema/built-in.ts';
import { InvalidSchema } from '../../src/schema/schema-error.ts';
import { schemaOfMeta, schemaOfType } from '../../src/schema/links.ts';
import { assertValid, validate } from '../../src/schema/validate.ts';

beforeAll(prepareHashing);

const missing = parseNodeHash('EYHPV6X8XHTCS');

/** The nodes that lead from a step to the schema of its meta. */
function threadWith(schema: JsonValue): { source: MemorySource; start: EncodedNode; finds: () => number } {
  const role = encodeNode(builtIn['role-schema'], schema);
  const writer = encodeNode(builtIn.role, { schema: role.hash });
  const workflow = encodeNode(builtIn.workflow, { roles: { writer: writer.hash } });
  const start = encodeNode(builtIn['thread-start'], { workflow: workflow.hash });
  const source = new MemorySource([role, writer, workflow, start]);
  const find = source.find.bind(source);
  let count = 0;
  source.find = (hash) => {
    count += 1;
    return find(hash);
  };
  return { source, start, finds: () => count };
}

describe('the schema of a type', () => {
  test('is built in, or a node of a schema', async () => {
    const own = encodeNode(builtIn['meta-schema'], { type: 'string' });
    const role = encodeNode(builtIn['role-schema'], { type: 'object' });
    const source = new MemorySource([own, role]);
    expect(await schemaOfType(source, builtIn.content)).toBe(builtInSchema('content'));
    expect(await schemaOfType(source, own.hash)).toEqual({ type: 'string' });
    expect(await schemaOfType(source, role.hash)).toEqual({ type: 'object' });
    await expect(schemaOfType(source, missing)).rejects.toThrow(NodeNotFound);
  });

  test('is no other node', async () => {
    const text = encodeNode(builtIn.content, { text: 'x' });
    const asked = schemaOfType(new MemorySource([text]), text.hash);
    await expect(asked).rejects.toThrow(InvalidSchema);
    await expect(asked).rejects.toThrow(`this is not a schema: node ${text.hash} is used as a type, but is no schema`);
  });
});

describe('the schema of the meta of a step', () => {
  test('is that of its role, and is looked for once', async () => {
    const { source, start, finds } = threadWith({ required: ['a'] });
    const step = { start: start.hash, role: 'writer' };
    expect(await schemaOfMeta(source, step)).toEqual({ required: ['a'] });
    expect(finds()).toBe(4);
    expect(await schemaOfMeta(source, { ...step, meta: {} })).toEqual({ required: ['a'] });
    expect(finds()).toBe(4);
    expect(await schemaOfMeta(source, { ...step, role: 'reader' })).toBeUndefined();
  });

  test.each<[string, JsonValue]>([
    ['no object', ['a']],
    ['a start that is no hash', { start: 'x', role: 'writer' }],
    ['no start', { role: 'writer' }],
    ['a role that is no text', { start: missing, role: 1 }],
    ['no role', { start: missing }],
  ])('is not known for %s', async (_, step) => {
    expect(await schemaOfMeta(new MemorySource(), step)).toBeUndefined();
  });

  test('is missed where the start is not there', async () => {
    await expect(schemaOfMeta(new MemorySource(), { start: missing, role: 'writer' })).rejects.toThrow(NodeNotFound);
  });

  test('names no role by what every object inherits', async () => {
    const { source, start } = threadWith({});
    expect(await schemaOfMeta(source, { start: start.hash, role: 'constructor' })).toBeUndefined();
  });
});

describe('a node is checked', () => {
  test('against the schema of its type alone', async () => {
    await expect(assertValid(builtIn.content, { text: 1 })).rejects.toThrow(
      'content does not match its schema: /text must be a string',
    );
    await expect(assertValid(builtIn.content, { text: 'x' })).resolves.toBeUndefined();
    const own = encodeNode(builtIn['meta-schema'], { type: 'string' });
    const source = new MemorySource([own]);
    await expect(assertValid(own.hash, 1, source)).rejects.toThrow(
      `the node of type ${own.hash} does not match its schema: must be a string`,
    );
    await expect(assertValid(own.hash, 1)).rejects.toThrow(NodeNotFound);
  });

  test('for being a schema that replies can be checked against', async () => {
    const type = builtIn['role-schema'];
    expect(await validate(new MemorySource(), { type, payload: { type: 'object' } })).toEqual({
      valid: true,
      errors: [],
    });
    expect(await validate(new MemorySource(), { type, payload: { $ref: 'other' } })).toEqual({
      valid: false,
      errors: [{ path: '', message: "$ref 'other' leads out of the schema" }],
    });
  });

  test('for its links only where its form is right', async () => {
    const type = builtIn.content;
    const source = new MemorySource();
    expect(await validate(source, { type, payload: { text: 'x', refs: [missing] } })).toEqual({
      valid: false,
      errors: [{ path: '/refs/0', message: `the link at /refs/0 leads nowhere: there is no node ${missing}` }],
    });
    expect(await validate(source, { type, payload: { text: 1, refs: [missing] } })).toEqual({
      valid: false,
      errors: [{ path: '/text', message: 'must be a string' }],
    });
  });

  test('by its hash', async () => {
    const node = encodeNode(builtIn.content, { text: 'x' });
    expect(await validate(new MemorySource([node]), node.hash)).toEqual({ valid: true, errors: [] });
    await expect(validate(new MemorySource(), missing)).rejects.toThrow(NodeNotFound);
  });
});

describe('the built-in types', () => {
  test('are those of threads by their names', () => {
    const ofThreads = typeNames.filter((name) => isThreadType(builtIn[name]));
    expect(ofThreads).toEqual(['thread-start', 'thread-step', 'thread-suspend', 'thread-resume', 'thread-end']);
    expect(isThreadType(missing)).toBe(false);
  });

  test('are known by their hashes', () => {
    expect(typeNames.map((name) => typeNameOf(builtIn[name]))).toEqual(typeNames);
    expect(typeNameOf(missing)).toBeUndefined();
  });

  test('are encoded as nodes of the meta-schema', () => {
    const nodes = encodeBuiltIns();
    expect(nodes.map(({ hash }) => hash)).toEqual(typeNames.map((name) => builtIn[name]));
    expect(nodes[0]?.hash).toBe(builtIn['meta-schema']);
    expect(encodeBuiltIn('agent')).toMatchObject({ hash: builtIn.agent, type: builtIn['meta-schema'] });
  });
});
