import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { encodeNode, MemorySource } from '../../../src/cas/node.ts';
import { UwfError } from '../../../src/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/json.ts';
import { assertValid } from '../../../src/schema/validate.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { InvalidWorkflow } from '../../../src/workflow/source/source-map.ts';
import { encodeWorkflow, loadWorkflow } from '../../../src/workflow/nodes.ts';
import { mutantsOf, randomFrom } from '../../helpers/mutants.ts';
import { generatedWorkflow } from '../generated-workflow.ts';

await prepareHashing();

/** Generated workflows, all with blocks. */
function* withBlocks(count: number): Generator<JsonObject> {
  const random = randomFrom(19);
  for (let found = 0; found < count;) {
    const workflow = generatedWorkflow(random);
    if (!isJsonObject(workflow['blocks'])) continue;
    found += 1;
    yield workflow;
  }
}

const file: JsonObject = {
  name: 'small',
  roles: { worker: { schema: { properties: { $status: { const: 'done' } }, required: ['$status'] } } },
  blocks: { both: { isolation: 'none', branches: { a: { role: 'worker' }, b: { role: 'worker' } }, join: 'any' } },
  moderator: [
    { from: '__start__', to: 'both', when: null },
    { from: 'both', to: '__end__', when: null },
  ],
};

test('a definition with blocks comes back equal, from nodes that their types allow', async () => {
  for (const value of withBlocks(60)) {
    const { definition } = await validateWorkflow(value);
    const { hash, nodes } = encodeWorkflow(definition!);
    const loaded = await loadWorkflow(new MemorySource(nodes.map(({ node }) => node)), hash);
    expect(loaded).toEqual(definition);
    expect(encodeWorkflow(loaded).hash).toBe(hash);
    for (const { node } of nodes) await assertValid(node.type, node.payload);
  }
});

test('a definition keeps its hash, with blocks and without', async () => {
  const hashOf = async (value: unknown): Promise<string> =>
    encodeWorkflow((await validateWorkflow(value)).definition!).hash;
  const { name, roles } = file;
  expect(await hashOf(file)).toBe('A4FJ5CWF97PZA');
  const rules = [
    { from: '__start__', to: 'worker', when: null },
    { from: 'worker', to: '__end__', when: null },
  ];
  expect(await hashOf({ name, roles, moderator: rules })).toBe('C3N9VY4MFP6Q4');
  expect(await hashOf({ name, roles, moderator: rules, blocks: null })).toBe(
    await hashOf({ name, roles, moderator: rules }),
  );
});

/** Loads a definition whose stored blocks are others. */
async function loadWith(blocks: JsonValue, more: JsonObject = {}): Promise<unknown> {
  const { definition } = await validateWorkflow(file);
  const { nodes } = encodeWorkflow(definition!);
  const [workflow, ...others] = nodes.map(({ node }) => node);
  const odd = encodeNode(workflow!.type, { ...(workflow!.payload as JsonObject), ...more, blocks });
  return loadWorkflow(new MemorySource([odd, ...others]), odd.hash);
}

async function storedBlock(): Promise<JsonObject> {
  const { definition } = await validateWorkflow(file);
  const { blocks } = encodeWorkflow(definition!).nodes[0]!.node.payload as { blocks: { both: JsonObject } };
  return blocks.both;
}

describe('stored blocks that make no sense are an error of the workflow', () => {
  test.each<[string, JsonObject, string]>([
    ['a branch of an unknown role', { branches: { a: { role: 'stranger' } } }, 'unknown-role'],
    ['no join', { join: null }, 'missing-key'],
    ['a join of another kind', { join: 3 }, 'wrong-type'],
    ['no branches', { branches: {} }, 'wrong-type'],
    ['neither branches nor each', { branches: null }, 'branches-or-each'],
    ['a key of a version to come', { quorum: 2 }, 'unknown-key'],
    ['an unknown isolation', { isolation: 'container' }, 'wrong-type'],
  ])('%s', async (_name, change, code) => {
    const loaded = loadWith({ both: { ...(await storedBlock()), ...change } });
    await expect(loaded).rejects.toBeInstanceOf(InvalidWorkflow);
    await expect(loaded).rejects.toMatchObject({
      diagnostics: expect.arrayContaining([expect.objectContaining({ code })]),
    });
  });

  test('a block with the name of a role', async () => {
    await expect(loadWith({ worker: await storedBlock() })).rejects.toMatchObject({
      diagnostics: [{ code: 'name-taken' }],
    });
  });

  test.each<[string, JsonValue]>([
    ['a list', []],
    ['a text', 'both'],
    ['empty', {}],
  ])('blocks that are %s', async (_name, blocks) => {
    await expect(loadWith(blocks)).rejects.toBeInstanceOf(InvalidWorkflow);
  });

  test('whatever is changed in them, no other error comes', async () => {
    const block = await storedBlock();
    for (const { value } of mutantsOf({ both: block })) {
      const error: unknown = await loadWith(value).then(
        () => undefined,
        (caught: unknown) => caught,
      );
      if (error !== undefined) expect(error).toBeInstanceOf(UwfError);
    }
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const error: unknown = await loadWith({ both: value as JsonValue }).then(
          () => undefined,
          (caught: unknown) => caught,
        );
        expect(error).toBeInstanceOf(UwfError);
      }),
    );
  });
});
