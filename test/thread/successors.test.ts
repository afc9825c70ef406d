import { beforeAll, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { ObjectBatch } from '../../src/git/stores/object-batch.ts';
import { publish } from '../../src/git/stores/publish.ts';
import type { Repository } from '../../src/git/repository.ts';
import { writeNodeTree } from '../../src/cas/node-tree.ts';
import { builtIn, builtInTypes, encodeTyped, isSuccessor, typeNameOf } from '../../src/schema/built-in.ts';
import { META_SCHEMA } from '../../src/cas/frozen-types.ts';
import { loadWorkflow } from '../../src/workflow/nodes/load-workflow.ts';
import { MemorySource } from '../../src/cas/node-source.ts';
import { appendStep } from '../../src/thread/append/append-step.ts';
import { activeRef } from '../../src/thread/thread-refs.ts';
import { readState } from '../../src/thread/read/thread-state.ts';
import { readThreadCommit, type ThreadCommit } from '../../src/thread/thread-commit.ts';
import { Verification } from '../../src/verify/chain/verification.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

beforeAll(prepareHashing);

const newer = builtInTypes.find((type) => isSuccessor(type) && typeNameOf(type) === 'thread-step')!;
const usage = { inputTokens: 1, outputTokens: 2, turns: 1 };

function typesIn({ index }: ThreadCommit): string[] {
  return index.map(({ path }) => path).filter((path) => path.startsWith('types/'));
}

async function findingsOf(repository: Repository, state: Awaited<ReturnType<typeof startLoop>>) {
  return (await new Verification(repository).verify(state.head.id)).findings;
}

test('a step without newer fields is stored as the first version of uwf stored it', async () => {
  const repository = createMapRepository();
  const state = await appendStep(repository, await startLoop(repository), stepDraft({ usage }));
  expect(typesIn(state.head)).toEqual([]);
  expect(typesIn(state.start)).toHaveLength(16);
  const step = state.head.index.find(({ path }) => path === 'step.json')!;
  expect(step.hash).toBe(encodeNode(builtIn['thread-step'], JSON.parse(JSON.stringify(state.head.node))).hash);
});

test('the schema of a successor lies in the first commit of a thread that uses it, and in no later one', async () => {
  const repository = createMapRepository();
  const full = { ...usage, cacheReadTokens: 7, isAtLeast: true as const };
  const attempts = [{ text: 'no', errors: ['no front matter'], usage: full }];
  const first = await appendStep(repository, await startLoop(repository), stepDraft({ usage: full }));
  const second = await appendStep(repository, first, stepDraft({ role: 'checker', rule: 1, usage: full, attempts }));
  expect(typesIn(first.head)).toEqual([`types/${newer}.json`]);
  expect(typesIn(second.head)).toEqual([expect.stringContaining('types/')]);
  expect(typesIn(second.head)).not.toContain(`types/${newer}.json`);
  expect(second.head.node).toMatchObject({ usage: full });
  expect(await findingsOf(repository, second)).toEqual([]);
  const read = await readState(repository, second.id, second.head.id);
  expect([...read.tally.types].toSorted()).toEqual([...second.tally.types].toSorted());
});

test('a node of a type that is not known is said to be newer, not corrupt', async () => {
  const repository = createMapRepository();
  const state = await startLoop(repository);
  const schema = encodeNode(META_SCHEMA, { title: 'thread-step', description: 'of a version to come' });
  const batch = new ObjectBatch();
  const author = { name: 'a', email: 'a@b', atMs: 1_795_262_400_000 };
  const tree = writeNodeTree(batch, [
    { path: 'step.json', node: encodeNode(schema.hash, { number: 1 }) },
    { path: `types/${schema.hash}.json`, node: schema },
  ]);
  const value = batch.addCommit({ tree, parents: [state.head.id], author, committer: author, message: 's\n' });
  await publish(repository, batch, [{ name: activeRef(state.id), expected: state.head.id, value }]);
  const message = `step.json of commit ${value} has the type ${schema.hash}, which this version of uwf does not know`;
  await expect(readThreadCommit(repository, value)).rejects.toMatchObject({ code: 'newer-format', message });
  const { findings } = await new Verification(repository).verify(value);
  expect(findings).toEqual([{ commit: value, path: 'step.json', what: message }]);
});

test('a workflow whose roles have fields that are not followed yet is refused as newer', async () => {
  const schema = encodeNode(builtIn['role-schema'], {});
  const texts = { description: '', systemPrompt: '', extractPrompt: '' };
  const role = encodeTyped('role', { name: 'a', ...texts, schema: schema.hash, memo: 'on' });
  const workflow = encodeTyped('workflow', {
    name: 'x',
    description: '',
    roles: { a: role.hash },
    moderator: [{ from: '__start__', to: 'a', when: null }],
  });
  await expect(loadWorkflow(new MemorySource([workflow, role, schema]), workflow.hash)).rejects.toMatchObject({
    code: 'newer-format',
    message: `role ${role.hash} needs a newer version of uwf: it sets fields that this version does not follow`,
  });
});
