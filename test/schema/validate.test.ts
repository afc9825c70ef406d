import { beforeAll, describe, expect, test } from 'vitest';
import { parseNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode, MemorySource, NodeNotFound } from '../../src/cas/node.ts';
import { TooManyOpenFiles } from '../../src/git/format/errors.ts';
import type { JsonObject } from '../../src/json.ts';
import { builtIn, encodeBuiltIns } from '../../src/schema/built-in.ts';
import { validate } from '../../src/schema/validate.ts';
import { allowFiles } from '../helpers/few-files.ts';
import { sampleNodes } from './sample-nodes.ts';

beforeAll(prepareHashing);

const missing = parseNodeHash('EYHPV6X8XHTCS');

/** A step of a thread whose role reports a text `word` and a hash `note`, with everything that it links to. */
function stepWith(fields: JsonObject): { source: MemorySource; node: { type: typeof missing; payload: JsonObject } } {
  const samples = sampleNodes();
  const sample = samples.find(({ name }) => name === 'thread-step')!;
  const schema = encodeNode(builtIn['role-schema'], {
    properties: { word: { type: 'string' }, note: { format: 'cas_ref', cas_type: 'content' } },
  });
  const role = encodeNode(builtIn.role, { schema: schema.hash });
  const workflow = encodeNode(builtIn.workflow, { roles: { writer: role.hash } });
  const start = encodeNode(builtIn['thread-start'], { workflow: workflow.hash });
  const nodes = samples.map(({ node }) => node);
  const source = new MemorySource([...nodes, schema, role, workflow, start, ...encodeBuiltIns()]);
  // All samples are objects.
  const payload = { ...(sample.node.payload as JsonObject), start: start.hash, role: 'writer', ...fields };
  return { source, node: { type: sample.node.type, payload } };
}

describe('the meta of a step', () => {
  test('is checked against the schema of its role, with its place in the step', async () => {
    const good = stepWith({ meta: { word: 'x' } });
    expect(await validate(good.source, good.node)).toEqual({ valid: true, errors: [] });
    const wrong = stepWith({ meta: { word: 1 } });
    expect(await validate(wrong.source, wrong.node)).toEqual({
      valid: false,
      errors: [{ path: '/meta/word', message: 'must be a string' }],
    });
  });

  test('may link only to what its schema allows', async () => {
    const { source, node } = stepWith({ meta: { note: missing } });
    const message = `the link at /meta/note leads nowhere: there is no node ${missing}`;
    expect(await validate(source, node)).toEqual({ valid: false, errors: [{ path: '/meta/note', message }] });
  });

  test('is not checked where the workflow has no such role', async () => {
    const { source, node } = stepWith({ role: 'reader', meta: { word: 1 } });
    expect(await validate(source, node)).toEqual({ valid: true, errors: [] });
  });

  test('cannot be checked where its schema is not there', async () => {
    const { source, node } = stepWith({ start: missing });
    await expect(validate(source, node)).rejects.toThrow(NodeNotFound);
  });
});

test('only a step has a meta that is checked', async () => {
  const { source, node } = stepWith({});
  const type = encodeNode(builtIn['meta-schema'], {});
  source.add(type);
  const { start, role } = node.payload;
  const payload = { start: start!, role: role!, meta: { word: 1 } };
  expect(await validate(source, { type: type.hash, payload })).toEqual({ valid: true, errors: [] });
});

describe('a schema of a role', () => {
  const type = builtIn['role-schema'];

  test('has to be one that replies can be checked against', async () => {
    const source = new MemorySource();
    expect(await validate(source, { type, payload: { type: 'object' } })).toEqual({ valid: true, errors: [] });
    const message = 'refers to itself without going into the value, which never ends';
    expect(await validate(source, { type, payload: { $ref: '#' } })).toEqual({
      valid: false,
      errors: [{ path: '', message }],
    });
  });

  test('is not called wrong where it could not be compiled', async () => {
    // Enough for the check by the draft; a large schema is compiled in a time box of its own.
    allowFiles(0, Object.assign(new Error('no more files'), { code: 'EMFILE' }));
    const checked = validate(new MemorySource(), { type, payload: { title: 'x'.repeat(30_000) } });
    await expect(checked).rejects.toThrow(TooManyOpenFiles);
  });
});
