import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { encodeNode, MemorySource } from '../../../src/cas/node.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { assertValid } from '../../../src/schema/validate.ts';
import { needsOf, type WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { InvalidWorkflow } from '../../../src/workflow/source/source-map.ts';
import { encodeWorkflow, loadWorkflow } from '../../../src/workflow/nodes.ts';
import { loadText } from '../memory-reader.ts';

beforeAll(prepareHashing);

const schema = { properties: { $status: { const: 'done' } }, required: ['$status'] };
const when = "$steps[-1].meta.`$status` = 'done'";
const asRules = {
  moderator: [
    { from: '__start__', to: 'worker' },
    { from: 'worker', to: '__end__', when },
  ],
};
const asGraph = { graph: { $START: { new: { role: 'worker' } }, worker: { done: { role: '$END' } } } };
const asConditions = {
  graph: { $START: [{ role: 'worker' }], worker: [{ role: '$END', condition: 'isDone' }] },
  conditions: { isDone: when },
};

async function definitionOf(rules: JsonObject, needs?: JsonValue, file = 'small.json'): Promise<WorkflowDefinition> {
  const worker = needs === undefined ? { schema } : { schema, needs };
  // JSON is YAML.
  const loaded = await loadText(JSON.stringify({ name: 'small', roles: { worker }, ...rules }), file);
  expect(loaded.diagnostics).toEqual([]);
  return loaded.definition!;
}

/** A definition as its nodes give it back. */
async function storedAndLoaded(definition: WorkflowDefinition): Promise<WorkflowDefinition> {
  const { hash, nodes } = encodeWorkflow(definition);
  for (const { node } of nodes) await assertValid(node.type, node.payload);
  return loadWorkflow(new MemorySource(nodes.map(({ node }) => node)), hash);
}

describe.each([
  ['a list of rules', asRules],
  ['edges by status', asGraph],
  ['edges with named conditions', asConditions],
])('in %s', (_name, rules) => {
  test.each(['small.yaml', 'small.json'])('needs of %s are stored in order and come back', async (file) => {
    const definition = await definitionOf(rules, ['gpu', '4-cores', 'docker'], file);
    expect(needsOf(definition, 'worker')).toEqual(['4-cores', 'docker', 'gpu']);
    expect(await storedAndLoaded(definition)).toEqual(definition);
    expect(encodeWorkflow(definition).hash).toBe('EKJ019WMKTCM8');
  });

  test.each([[undefined], [null], [[]]])('a definition keeps its hash where needs are %j', async (needs) => {
    const definition = await definitionOf(rules, needs);
    expect(encodeWorkflow(definition).hash).toBe('1GH6Y7WQYPFKP');
    expect(needsOf(await storedAndLoaded(definition), 'worker')).toEqual([]);
  });
});

test('equal sets of needs are equal nodes, also of a definition that a program has made', async () => {
  const definition = await definitionOf(asRules, ['a', 'b', 'c']);
  const { worker } = definition.roles;
  const hashWith = (needs: string[]): string =>
    encodeWorkflow({ ...definition, roles: { worker: { ...worker!, needs } } }).hash;
  expect(hashWith(['c', 'a', 'b', 'a'])).toBe(encodeWorkflow(definition).hash);
  expect(hashWith([])).toBe(encodeWorkflow(await definitionOf(asRules)).hash);
});

test('empty limits that a program gives are none, so that the hash is the same after the definition is read', async () => {
  const definition = await definitionOf(asRules);
  const { worker } = definition.roles;
  const empty = { ...definition, limits: {}, roles: { worker: { ...worker!, limits: {} } } };
  expect(encodeWorkflow(empty).hash).toBe(encodeWorkflow(definition).hash);
  expect(encodeWorkflow(await storedAndLoaded(empty)).hash).toBe(encodeWorkflow(empty).hash);
});

test('a block needs nothing itself, whatever the roles of its branches need', async () => {
  const blocks = { both: { isolation: 'none', branches: { a: { role: 'worker' } }, join: 'all' } };
  const moderator = [
    { from: '__start__', to: 'both' },
    { from: 'both', to: '__end__' },
  ];
  const definition = await storedAndLoaded(await definitionOf({ blocks, moderator }, ['gpu']));
  expect(needsOf(definition, 'both')).toEqual([]);
  expect(needsOf(definition, 'worker')).toEqual(['gpu']);
  for (const name of ['__start__', 'toString', 'stranger']) expect(needsOf(definition, name)).toEqual([]);
});

/** Loads a definition whose stored role has other needs. */
async function loadWith(needs: JsonValue): Promise<WorkflowDefinition> {
  const { nodes } = encodeWorkflow(await definitionOf(asRules, ['gpu']));
  const [workflow, role, replies] = nodes.map(({ node }) => node);
  const payload = { ...(role!.payload as JsonObject), needs };
  const odd = encodeNode(builtIn.role, payload);
  const roles = { worker: odd.hash };
  const whole = encodeNode(workflow!.type, { ...(workflow!.payload as JsonObject), roles });
  return loadWorkflow(new MemorySource([whole, odd, replies!]), whole.hash);
}

describe('stored needs', () => {
  test('in another order are read as the same set', async () => {
    expect(await loadWith(['gpu', 'docker'])).toEqual(await loadWith(['docker', 'gpu']));
  });

  test.each<[string, JsonValue, string]>([
    ['no list', 'gpu', 'wrong-type'],
    ['no labels', ['GPU 2'], 'bad-label'],
    ['one label twice', ['gpu', 'gpu'], 'bad-label'],
    ['too many', Array.from({ length: 33 }, (_, at) => `l${at}`), 'too-large'],
  ])('that are %s are an error of the workflow', async (_name, needs, code) => {
    const loaded = loadWith(needs);
    await expect(loaded).rejects.toBeInstanceOf(InvalidWorkflow);
    await expect(loaded).rejects.toMatchObject({ diagnostics: [{ code, path: expect.stringContaining('needs') }] });
  });
});
