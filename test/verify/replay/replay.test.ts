import { expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import type { NodeSource } from '../../../src/cas/node-source.ts';
import { Replayer } from '../../../src/verify/replay/replay.ts';
import { ObjectBatch } from '../../../src/git/stores/object-batch.ts';
import { readThreadCommit, type ThreadCommit } from '../../../src/thread/thread-commit.ts';
import { startThread } from '../../../src/thread/append/start-thread.ts';
import type { CommitOf } from '../../../src/thread/read/thread-state.ts';
import { KnownNodes, NodeCache } from '../../../src/verify/chain/known-nodes.ts';
import { ThreadProgress } from '../../../src/verify/chain/progress.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { writeWorkflowTree } from '../../../src/workflow/nodes/encode-workflow.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { agent, loop } from '../../thread/thread-fixture.ts';

await prepareHashing();
const repository = createMapRepository();

/** A thread of `loop` that begins with a role, and its nodes. */
async function startWith(
  first: string,
  more: WorkflowDefinition['moderator'] = [],
): Promise<{ start: CommitOf<'start'>; nodes: KnownNodes }> {
  const batch = new ObjectBatch();
  const moderator = [{ from: '__start__', to: first, when: null }, ...more, ...loop.moderator.slice(1)];
  const workflow = writeWorkflowTree(batch, { ...loop, moderator });
  const agents = { writer: agent, checker: agent };
  const { head } = await startThread(repository, batch, { workflow, prompt: 'Write.', agents });
  const start = await readThreadCommit(repository, head.id);
  if (start.kind !== 'start') throw new Error('it is no start');
  const nodes = new KnownNodes(new NodeCache(repository));
  for (const entry of start.index) await nodes.add(entry, start.index);
  return { start, nodes };
}

test('a thread is judged by its own workflow, though that of another has the same forged hash', async () => {
  const [other, own] = [await startWith('writer'), await startWith('checker')];
  // As a forged hash would have it: found under one hash there is a workflow in the one thread, and another in the other.
  const hash = other.start.node.workflow;
  const start = { ...own.start, node: { ...own.start.node, workflow: hash } };
  const nodes: NodeSource = { find: (wanted) => own.nodes.find(wanted === hash ? own.start.node.workflow : wanted) };
  const replayer = new Replayer(repository);
  // Of a suspension a replay reads no more than this.
  const turnOf = (role: string): ThreadCommit =>
    ({ kind: 'suspend', node: { role, rule: 0 } }) as unknown as ThreadCommit;
  const judged = (of: CommitOf<'start'>, known: NodeSource, role: string): Promise<string[]> =>
    replayer.begin(of, 'Write.').check(new ThreadProgress(of), turnOf(role), known);
  expect(await judged(other.start, other.nodes, 'writer')).toEqual([]);
  expect(await judged(start, nodes, 'checker')).toEqual([]);
  expect(await judged(start, nodes, 'writer')).toHaveLength(1);
});

test('a rule for limits may have decided where it fits, and only where the others name a role', async () => {
  const { start, nodes } = await startWith('writer', [
    { from: '__start__', to: 'writer', when: '1 = 2', on: 'limit' },
    { from: '__start__', to: 'checker', when: null, on: 'limit' },
  ]);
  const replay = new Replayer(repository).begin(start, 'Write.');
  const turn = (role: string, rule: number): Promise<string[]> =>
    // Of a suspension a replay reads no more than this.
    replay.check(
      new ThreadProgress(start),
      { kind: 'suspend', node: { role, rule } } as unknown as ThreadCommit,
      nodes,
    );
  expect(await turn('writer', 0)).toEqual([]);
  expect(await turn('checker', 2)).toEqual([]);
  expect(await turn('writer', 1)).toHaveLength(1);
  expect(await turn('checker', 0)).toHaveLength(1);
  expect(await turn('writer', 2)).toHaveLength(1);
});
