import { expect, test } from 'vitest';
import { type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { type EncodedNode, encodeNode, type NodeSource, type StoredNode } from '../../src/cas/node.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { type SuspendCause, suspendCauses, type ThreadSuspend } from '../../src/schema/built-in/thread-start.ts';
import { agentNode, contentNode } from '../../src/thread/draft-commit.ts';
import { Replayer } from '../../src/verify/replay.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { readThreadCommit, type ThreadCommit } from '../../src/thread/thread-commit.ts';
import { startThread } from '../../src/thread/thread-verbs.ts';
import type { CommitOf } from '../../src/thread/thread-state.ts';
import { KnownNodes, NodeCache } from '../../src/verify/read-checked.ts';
import { ThreadProgress } from '../../src/verify/thread-progress.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { commitOf, idOf } from './commit/plain-commits.ts';
import { agent, loop } from '../thread/thread-fixture.ts';

await prepareHashing();
const robot = agentNode(agent).hash;
const repository = createMapRepository();

/** A thread of `loop` that begins with a role, and its nodes. */
async function startWith(
  first: string,
  more: WorkflowDefinition['moderator'] = [],
  asked?: string,
): Promise<{ start: CommitOf<'start'>; nodes: KnownNodes }> {
  const batch = new ObjectBatch();
  const moderator = [
    { from: '__start__', to: first, when: null, ...(asked && { prompt: asked }) },
    ...more,
    ...loop.moderator.slice(1),
  ];
  const workflow = writeWorkflowTree(batch, { ...loop, moderator });
  const agents = { writer: agent, checker: agent };
  const { head } = await startThread(repository, batch, { workflow, prompt: 'Write.', agents });
  const start = await readThreadCommit(repository, head.id);
  if (start.kind !== 'start') throw new Error('it is no start');
  const nodes = new KnownNodes(new NodeCache(repository));
  for (const entry of start.index) await nodes.add(entry);
  return { start, nodes };
}

/** A suspension, of which a replay reads no more than this. */
function suspension(node: Partial<ThreadSuspend>): ThreadCommit {
  const nothing = { usage: null, attempts: [], react: null, content: null };
  return { kind: 'suspend', node: { cause: 'agent', ...nothing, ...node } } as Partial<ThreadCommit> as ThreadCommit;
}

function withNodes(known: NodeSource, ...nodes: EncodedNode[]): NodeSource {
  const find = async (hash: NodeHash): Promise<StoredNode | undefined> => {
    const node = nodes.find((each) => each.hash === hash);
    return node ? { ...node, oid: idOf(1) } : known.find(hash);
  };
  return { find };
}

test('a thread is judged by its own workflow, though that of another has the same forged hash', async () => {
  const [other, own] = [await startWith('writer'), await startWith('checker')];
  // As a forged hash would have it: found under one hash there is a workflow in the one thread, and another in the other.
  const hash = other.start.node.workflow;
  const start = { ...own.start, node: { ...own.start.node, workflow: hash } };
  const nodes: NodeSource = { find: (wanted) => own.nodes.find(wanted === hash ? own.start.node.workflow : wanted) };
  const replayer = new Replayer(repository);
  const turnOf = (role: string): ThreadCommit => suspension({ role, rule: 0, agent: robot });
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
  const turn = (role: string, rule: number | null): Promise<string[]> =>
    replay.check(new ThreadProgress(start), suspension({ role, rule, agent: robot }), nodes);
  expect(await turn('writer', 0)).toEqual([]);
  expect(await turn('checker', 2)).toEqual([]);
  expect(await turn('writer', 1)).toHaveLength(1);
  expect(await turn('checker', 0)).toHaveLength(1);
  expect(await turn('writer', 2)).toHaveLength(1);
  // Whether a limit was reached is not stored: a person may have given the turn.
  expect(await turn('checker', null)).toEqual([]);
});

test('a person gave the turn only where the rules give it to another role', async () => {
  const { start, nodes } = await startWith('writer', [{ from: 'writer', to: 'checker', when: '$nothing(' }]);
  const replay = new Replayer(repository).begin(start, 'Write.');
  const turn = (role: string): Promise<string[]> =>
    replay.check(new ThreadProgress(start), suspension({ role, rule: null, agent: robot }), nodes);
  expect(await turn('writer')).toEqual([
    "it says that a person gave the turn to 'writer'; by the rules it is the turn of 'writer' (rule 1)",
  ]);
  expect(await turn('checker')).toEqual([]);
  await replay.add(commitOf('step', 2, { role: 'writer', agent: robot }), '', nodes);
  // The rules come to no decision.
  expect(await turn('writer')).toEqual([]);
  expect(await turn('checker')).toEqual([]);
});

test('an agent stops for its own causes, and for those that the engine finds', async () => {
  const { start, nodes } = await startWith('writer');
  const replay = new Replayer(repository).begin(start, 'Write.');
  const packages: Record<string, string> = {
    'builtin:acp': 'agent invalid-reply limit timeout permission secret isolation interrupted',
    'builtin:block': 'agent invalid-reply limit child secret isolation',
    'builtin:command': 'agent invalid-reply limit timeout secret isolation interrupted',
    'builtin:human': 'agent invalid-reply limit timeout human secret isolation interrupted',
    'builtin:workflow': 'agent invalid-reply limit timeout child secret isolation interrupted',
    'uwf-agent-sample': 'agent invalid-reply limit timeout human child permission secret isolation interrupted',
  };
  for (const [name, causes] of Object.entries(packages)) {
    const by = encodeNode(builtIn.agent, { ...agent, package: name });
    const prompt = contentNode('Do it.');
    const known = withNodes(nodes, by, prompt);
    const turn = (cause: SuspendCause, due?: number): Promise<string[]> => {
      const node = { role: 'writer', rule: 0, agent: by.hash, prompt: prompt.hash, cause, ...(due && { due }) };
      return replay.check(new ThreadProgress(start), suspension(node), known);
    };
    const free: SuspendCause[] = [];
    for (const cause of suspendCauses) if ((await turn(cause)).length === 0) free.push(cause);
    expect(free.join(' ')).toBe(causes);
    const fault = "it says when to go on, which no turn does that stops for 'secret'";
    expect(await turn('secret', 7)).toEqual([fault]);
    expect(await turn('agent', 7)).toEqual([]);
  }
});

test('a rule that exceeded its limits is not evaluated, and those before it do not hold', async () => {
  const rules = encodeNode(builtIn.agent, { ...agent, package: 'builtin:rules' });
  const [task, other] = [contentNode('Write.'), contentNode('Stop.')];
  // It can be evaluated nowhere.
  const undecided = { from: 'writer', to: '__end__', when: '$nothing(' };
  const { start, nodes } = await startWith('writer', [
    { from: 'writer', to: 'checker', when: '1 = 2' },
    undecided,
    { from: 'writer', to: 'checker', when: null },
  ]);
  const replay = new Replayer(repository).begin(start, 'Write.');
  const known = withNodes(nodes, rules, task, other);
  await replay.add(commitOf('step', 2, { role: 'writer', agent: robot }), '', nodes);
  const turn = (node: Partial<ThreadSuspend>): Promise<string[]> => {
    const stored = { role: 'writer', rule: 2, agent: rules.hash, prompt: task.hash, cause: 'rule' as const };
    return replay.check(new ThreadProgress(start), suspension({ ...stored, ...node }), known);
  };
  expect(await turn({})).toEqual([]);
  expect(await turn({ role: 'checker', rule: 1 })).toEqual([]);
  const usage = { inputTokens: 1, outputTokens: 1, turns: 1 };
  const forged: Partial<ThreadSuspend>[] = [
    { role: 'checker' },
    { rule: 0 },
    { rule: null },
    { rule: 99 },
    { agent: robot },
    { cause: 'timeout' },
    { prompt: other.hash },
    { usage },
  ];
  for (const node of forged) expect(await turn(node), JSON.stringify(node)).not.toEqual([]);
  // The rule after one that does hold is not asked.
  const holding = await startWith('writer', [{ from: 'writer', to: 'checker', when: '1 = 1' }, undecided]);
  const held = new Replayer(repository).begin(holding.start, 'Write.');
  await held.add(commitOf('step', 2, { role: 'writer', agent: robot }), '', holding.nodes);
  const node = { role: 'writer', rule: 2, agent: rules.hash, prompt: task.hash, cause: 'rule' as const };
  expect(
    await held.check(new ThreadProgress(holding.start), suspension(node), withNodes(holding.nodes, rules, task)),
  ).toEqual([
    "it says that rule 3 was undecided, and 'writer' waits; by the rules it is the turn of 'checker' (rule 2)",
  ]);
});

test('the prompt of a person is the question that the rule asks, or the purpose of the role', async () => {
  const me = encodeNode(builtIn.agent, { ...agent, package: 'builtin:human' });
  const { start, nodes } = await startWith('writer', [], 'Write about {{ start.prompt }}');
  const replay = new Replayer(repository).begin(start, 'the sea');
  const turn = (role: string, rule: number | null, said: string, by = me.hash): Promise<string[]> => {
    const prompt = contentNode(said);
    const node = { role, rule, agent: by, prompt: prompt.hash };
    return replay.check(new ThreadProgress(start), suspension(node), withNodes(nodes, me, prompt));
  };
  expect(await turn('writer', 0, 'Write about the sea')).toEqual([]);
  expect(await turn('writer', 0, 'Write about ‹redacted:word:01234567›')).toEqual([]);
  expect(await turn('writer', 0, 'Write about the war')).toEqual([
    "its prompt is not what the rules and the workflow ask of 'writer'",
  ]);
  expect(await turn('writer', 0, 'Write about the war', robot)).toEqual([]);
  expect(await turn('checker', null, loop.roles['checker']?.systemPrompt ?? '')).toEqual([]);
  expect(await turn('checker', null, 'Write about the sea')).toHaveLength(1);
});
