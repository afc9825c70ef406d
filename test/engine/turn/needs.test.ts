import { expect, test } from 'vitest';
import { encodeNode } from '../../../src/cas/node.ts';
import { nodesBehind } from '../../../src/cas/commit-nodes.ts';
import { writeNodeTree } from '../../../src/cas/node-tree.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import type { JsonObject } from '../../../src/json.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { startThread } from '../../../src/thread/thread-verbs.ts';
import { readChain } from '../../../src/thread/thread-chain.ts';
import { Verification } from '../../../src/verify/verification.ts';
import { needsOf } from '../../../src/workflow/definition.ts';
import { encodeWorkflow, loadWorkflow } from '../../../src/workflow/nodes.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';
import { createBlockFixture, withBlock } from '../blocks/block-fixture.ts';

const definition = workflow('train', { trainer: statuses('done') }, 'trainer > end');

test('a thread of earlier whose workflow has needs, in any order, runs and is verified', async () => {
  const { repository, engine } = await createFixture(scripted({ trainer: [reply('done')] }));
  const [whole, role, replies] = encodeWorkflow(definition).nodes;
  const needy = encodeNode(builtIn.role, { ...(role!.node.payload as JsonObject), needs: ['gpu', 'docker'] });
  const roles = { trainer: needy.hash };
  const caller = encodeNode(whole!.node.type, { ...(whole!.node.payload as JsonObject), roles });
  const nodes = [{ ...whole!, node: caller }, { ...role!, node: needy }, replies!];
  const batch = new ObjectBatch(repository.objects.format);
  const tree = writeNodeTree(batch, nodes);
  const pinned = { name: 'train', hash: caller.hash, tree };
  const { id } = await startThread(repository, batch, { workflow: pinned, prompt: 'Train.', agents: {} });
  const over = await engine.run(id);
  expect(over).toMatchObject({ status: 'ended', returnCode: 0 });
  expect((await new Verification(repository).verify(over.head)).findings).toEqual([]);
});

/** The ends of the branches of `work`. */
async function endsOfBranches(repository: Repository, head: ObjectId): Promise<ObjectId[]> {
  for await (const { kind, node, commit } of readChain(repository, head)) {
    if (kind === 'step' && node.role === 'work') return commit.parents.slice(1);
  }
  throw new Error('the block took no step');
}

/** What the roles of a thread's pinned workflow need, `role: label, …` each. */
async function needsOfRoles(repository: Repository, head: ObjectId): Promise<string[]> {
  for await (const { kind, node, id } of readChain(repository, head)) {
    if (kind !== 'start') continue;
    const definition = await loadWorkflow(nodesBehind(repository, [id]), node.workflow);
    return Object.keys(definition.roles).map((role) => `${role}: ${needsOf(definition, role).join(', ')}`);
  }
  throw new Error('the thread has no start');
}

test('a branch that runs a role keeps the needs of the role', async () => {
  const { repository, engine } = await createBlockFixture();
  const given = await withBlock({ branches: { a: { role: 'checker' }, b: { workflow: 'review' } }, join: 'all' });
  const checker = { ...given.roles['checker']!, needs: ['gpu'] };
  const { thread } = await engine.start({
    definition: { ...given, roles: { ...given.roles, checker } },
    prompt: 'Go.',
  });
  const over = await engine.run(thread);
  const ends = await endsOfBranches(repository, over.head);
  const needs = await Promise.all(ends.map((end) => needsOfRoles(repository, end)));
  expect(needs.flat().toSorted()).toEqual(['checker: gpu', 'reader: ']);
  expect((await new Verification(repository).verify(over.head)).findings).toEqual([]);
});
