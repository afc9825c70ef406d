import { describe, expect, test } from 'vitest';
import { type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode, getNode, MemorySource, NodeNotFound } from '../../src/cas/node.ts';
import type { JsonObject } from '../../src/json.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import type { ThreadCommit } from '../../src/thread/thread-commit.ts';
import { expectedFiles, isFree } from '../../src/verify/check-form.ts';
import { commitOf, hashOf, idOf } from './commit/plain-commits.ts';

await prepareHashing();

const source = new MemorySource();

function put(type: NodeHash, payload: JsonObject): NodeHash {
  const node = encodeNode(type, payload);
  source.add(node);
  return node.hash;
}

const agentOf = (config: JsonObject): NodeHash => put(builtIn.agent, { name: 'a', package: 'a', version: '', config });

function workflowOf(name: string, ...roles: string[]): { hash: NodeHash; role: NodeHash } {
  const described = { description: '', systemPrompt: '', extractPrompt: '' };
  const role = put(builtIn.role, { name, ...described, schema: hashOf(40) });
  const hash = put(builtIn.workflow, {
    name,
    description: '',
    roles: Object.fromEntries(roles.map((key) => [key, role])),
    moderator: [],
  });
  return { hash, role };
}

async function filesOf(commit: ThreadCommit, agents = {}): Promise<{ paths: object; choices: object }> {
  const { paths, choices } = await expectedFiles(commit, { agents }, (hash) => getNode(source, hash));
  return { paths: Object.fromEntries(paths), choices: Object.fromEntries(choices) };
}

describe('the files of a commit that its node implies', () => {
  test('are, of a start, the types, the workflow, the agents, and the workflows that these run', async () => {
    const workflow = workflowOf('main', 'writer', 'a/b');
    const child = workflowOf('child', 'reader');
    const runs = agentOf({ workflow: { $cas: child.hash }, other: { $cas: workflow.role } });
    const start = commitOf('start', 1, { workflow: workflow.hash, agents: { writer: runs, 'a/b': agentOf({}) } });
    const { paths, choices } = await filesOf(start);
    const types = Object.fromEntries(Object.values(builtIn).map((type) => [`types/${type}.json`, type]));
    const named = Object.keys(paths).filter((path) => path.includes('b') && path.startsWith('agents/'));
    expect(named).toHaveLength(1);
    const safe = named[0]!.slice('agents/'.length, -'.json'.length);
    expect(safe).not.toContain('/');
    expect(paths).toEqual({
      ...types,
      'start.json': hashOf(1),
      'prompt.md': hashOf(51),
      'workflow/workflow.json': workflow.hash,
      'workflow/roles/writer.json': workflow.role,
      'workflow/schemas/writer.json': hashOf(40),
      [`workflow/roles/${safe}.json`]: workflow.role,
      [`workflow/schemas/${safe}.json`]: hashOf(40),
      'agents/writer.json': runs,
      [`agents/${safe}.json`]: agentOf({}),
      'children/writer/workflow.json': child.hash,
      'children/writer/roles/reader.json': child.role,
      'children/writer/schemas/reader.json': hashOf(40),
    });
    expect(choices).toEqual({});
  });

  test('are, of a step, its texts, and its agent where the start names another', async () => {
    const step = commitOf('step', 2, { compact: hashOf(41) });
    const paths = {
      'step.json': hashOf(2),
      'output.md': hashOf(53),
      'prompt.md': hashOf(51),
      'compact.md': hashOf(41),
    };
    expect(await filesOf(step, { writer: hashOf(50) })).toEqual({ paths, choices: {} });
    const other = { ...paths, 'agent.json': hashOf(50) };
    expect(await filesOf(step, { writer: hashOf(42) })).toEqual({ paths: other, choices: {} });
    expect(await filesOf(step, { reader: hashOf(50) })).toEqual({ paths: other, choices: {} });
  });

  test.each<[ThreadCommit, object]>([
    [commitOf('suspend', 3), { 'suspend.json': hashOf(3), 'prompt.md': hashOf(51), 'agent.json': hashOf(50) }],
    [
      commitOf('suspend', 3, { content: hashOf(43) }),
      { 'suspend.json': hashOf(3), 'output.md': hashOf(43), 'prompt.md': hashOf(51), 'agent.json': hashOf(50) },
    ],
    [commitOf('resume', 4), { 'resume.json': hashOf(4) }],
    [commitOf('resume', 4, { answer: hashOf(44) }), { 'resume.json': hashOf(4), 'answer.md': hashOf(44) }],
    [commitOf('end', 5), { 'end.json': hashOf(5), 'summary.md': hashOf(54) }],
  ])('are those that the node of another commit names: %#', async (commit, paths) => {
    expect(await filesOf(commit)).toEqual({ paths, choices: {} });
  });

  test('are the attempts of a turn, counted from 01', async () => {
    const attempts = [45, 46].map((text) => put(builtIn.attempt, { content: hashOf(text), errors: [], usage: null }));
    for (const kind of ['step', 'suspend'] as const) {
      const { paths } = await filesOf(commitOf(kind, 2, { attempts }));
      expect(paths).toMatchObject({
        'attempts/01/attempt.json': attempts[0],
        'attempts/01/output.md': hashOf(45),
        'attempts/02/attempt.json': attempts[1],
        'attempts/02/output.md': hashOf(46),
      });
    }
    await expect(filesOf(commitOf('step', 2, { attempts: [hashOf(47)] }))).rejects.toThrow(NodeNotFound);
    await expect(filesOf(commitOf('step', 2, { attempts: [agentOf({})] }))).rejects.toThrow('is agent, not attempt');
  });

  test('are the trace of a turn, whose parts and results have one of several names', async () => {
    const call = (name: string): NodeHash =>
      put(builtIn['react-tool-call'], { name, arguments: hashOf(30), result: hashOf(31), durationMs: 1 });
    const turn = put(builtIn['react-turn'], {
      input: hashOf(32),
      output: hashOf(33),
      toolCalls: [call('read'), call('write')],
      parts: [hashOf(34), hashOf(35)],
      tokens: { input: 1, output: 1 },
      startedAtMs: 1,
      latencyMs: 1,
    });
    const session = { agent: hashOf(50), role: 'writer', turns: [turn, turn], totalTokens: 4, durationMs: 1 };
    const react = put(builtIn['react-session'], session);
    const { paths, choices } = await filesOf(commitOf('suspend', 3, { react }));
    const inTurn = (folder: string): object => ({
      [`${folder}/turn.json`]: turn,
      [`${folder}/input.md`]: hashOf(32),
      [`${folder}/output.md`]: hashOf(33),
      [`${folder}/calls/1-read.json`]: call('read'),
      [`${folder}/calls/1-read.arguments.md`]: hashOf(30),
      [`${folder}/calls/2-write.json`]: call('write'),
      [`${folder}/calls/2-write.arguments.md`]: hashOf(30),
    });
    expect(paths).toEqual({
      'suspend.json': hashOf(3),
      'prompt.md': hashOf(51),
      'agent.json': hashOf(50),
      'trace/session.json': react,
      ...inTurn('trace/001'),
      ...inTurn('trace/002'),
    });
    const chosen = (names: string[], hash: NodeHash): [string, object][] =>
      names.map((path) => [path, { paths: names, hash }]);
    const choicesIn = (folder: string): [string, object][] => [
      ...[34, 35].flatMap((text, at) =>
        chosen(
          ['thought', 'plan', 'refusal', 'note'].map((kind) => `${folder}/parts/${at + 1}-${kind}.md`),
          hashOf(text),
        ),
      ),
      ...['1-read', '2-write'].flatMap((name) =>
        chosen([`${folder}/calls/${name}.error.md`, `${folder}/calls/${name}.result.md`], hashOf(31)),
      ),
    ];
    expect(choices).toEqual(Object.fromEntries([...choicesIn('trace/001'), ...choicesIn('trace/002')]));
  });
});

test('a file that no field names is free where it is a type, was put along, or is linked', () => {
  const text = { type: builtIn.content, payload: { text: 'x' } };
  const other = { type: builtIn.agent, payload: {} };
  const hash = hashOf(48);
  const free = (path: string, node = other, kind: ThreadCommit['kind'] = 'end', linked = [hash]): boolean =>
    isFree({ path, hash, oid: idOf(80) }, node, kind, new Set(linked));
  expect(free(`types/${hash}.json`, other, 'end', [])).toBe(true);
  expect(free(`types/${hashOf(49)}.json`)).toBe(false);
  expect(free(`linked/${hash}.json`, other, 'step', [])).toBe(true);
  expect(free(`linked/${hash}.json`)).toBe(false);
  expect(free(`linked/${hashOf(49)}.json`, other, 'step')).toBe(false);
  expect(free(`artifacts/${hash}.json`)).toBe(true);
  expect(free(`artifacts/${hash}.md`)).toBe(false);
  expect(free(`artifacts/${hash}.md`, text)).toBe(true);
  expect(free(`artifacts/${hash}.json`, other, 'end', [])).toBe(false);
});
