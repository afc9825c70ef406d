import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../../src/json.ts';
import { configOf, createFixture, statuses, workflow } from '../../engine/engine-fixture.ts';
import { fixtureAgent } from '../../helpers/agent-request.ts';
import { isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const once = workflow('once', { worker: statuses('done') }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: '__end__', when: null },
]);

/** Runs one turn of the liar, who is given uwf's server, and gives what came of its steps. */
async function run(
  steps: JsonObject[],
  config: JsonObject = {},
): Promise<{ outcomes: unknown[]; refusals: string[]; status: string }> {
  const command = [process.execPath, fixtureAgent('lying-acp-agent.mjs'), JSON.stringify(steps)];
  const agent = { package: 'builtin:acp', config: { command, graceMs: 300, permissions: 'deny', ...config } };
  const fixture = await createFixture(configOf({ worker: agent }), { env: isolatedGitEnvironment });
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Work.' });
  await fixture.engine.step(thread);
  const text = fixture.events.flatMap((event) => (event.event === 'agent.text' ? [event.text] : [])).join('');
  const outcomes = text.split('\n').slice(3, -1);
  return {
    status: (await fixture.engine.describe(thread)).status,
    outcomes: outcomes.map((line) => JSON.parse(line) as unknown),
    refusals: fixture.events.flatMap((event) => (event.event === 'agent.refusal' ? [event.text] : [])),
  };
}

const own = (id: string, more: JsonObject = {}): JsonObject => {
  return { toolCallId: id, title: 'mcp__uwf__thread_show', kind: 'other', rawInput: {}, status: 'pending', ...more };
};
const mcp = { mcp: [['thread_show', {}]] };

test('a tool of uwf’s server needs no permission, whatever an agent puts before its name', async () => {
  const titles = ['mcp__uwf__thread_show', 'uwf_thread_show', 'thread_show (uwf MCP Server)', 'uwf: thread_show'];
  const calls = titles.map((title, index) => own(`${index}`, { title }));
  calls.push(own('9', { title: '{"limit":3}', _meta: { toolName: 'mcp__uwf__thread_show' } }));
  const { outcomes, refusals } = await run([mcp, ...calls.map((ask) => ({ ask }))]);
  expect(outcomes.slice(1)).toEqual(calls.map(() => ({ asked: 'yes' })));
  expect(refusals).toEqual([]);
});

test('a tool of uwf’s server is known by its arguments where every call of a server’s is said to run something', async () => {
  const rawInput = { server: 'uwf', tool: 'thread_show', arguments: {} };
  const asks = [
    rawInput,
    { ...rawInput, command: 'rm -rf build' },
    { ...rawInput, server: 'other' },
    { ...rawInput, arguments: { command: 'rm -rf build' } },
  ].map((input, index) => ({ toolCallId: `${index}`, title: 'mcp.server.tool', kind: 'execute', rawInput: input }));
  const { outcomes } = await run([mcp, ...asks.map((ask) => ({ ask }))]);
  expect(outcomes.slice(1)).toEqual([{ asked: 'yes' }, { asked: 'no' }, { asked: 'no' }, { asked: 'no' }]);
});

test('a tool of uwf’s server needs no permission under a name that it bore before', async () => {
  const told = { update: own('1', { title: 'uwf-report_result', rawInput: { $status: 'done' } }) };
  const { outcomes } = await run([told, { ask: { toolCallId: '1', title: 'report_result' } }]);
  expect(outcomes).toEqual(['told', { asked: 'yes' }]);
});

describe('a call that is named by the answers to its question alone', () => {
  const rawInput = { $status: 'done' };
  const nameless = own('1', { title: JSON.stringify(rawInput), rawInput });
  const answers = ['Always Allow in project: report_result', 'Always Allow for user: report_result', 'No'];

  test('is believed to be of uwf’s server', async () => {
    expect((await run([{ ask: nameless, answers }])).outcomes).toEqual([{ asked: 'yes' }]);
  });

  test.each<[string, JsonObject, string[]]>([
    ['has another title', { ...nameless, title: 'Publish' }, answers],
    ['says that it is of another server', { ...nameless, _meta: { toolName: 'mcp__other__report_result' } }, answers],
    ['is said to run a program', { ...nameless, kind: 'execute' }, answers],
    ['has arguments of another tool', own('1', { title: '{"a":1}', rawInput: { a: 1 } }), answers],
    ['is named otherwise', nameless, ['Always Allow in project: not_report_result', 'Yes', 'No']],
  ])('is not believed where it %s', async (_, ask, named) => {
    expect((await run([{ ask, answers: named }])).outcomes).toEqual([{ asked: 'no' }]);
  });

  test('is believed no more once the server was not asked', async () => {
    const lied = { update: { ...nameless, status: 'completed' } };
    const { outcomes } = await run([
      { ask: nameless, answers },
      lied,
      { ask: { ...nameless, toolCallId: '2' }, answers },
    ]);
    expect(outcomes).toEqual([{ asked: 'yes' }, 'told', { asked: 'no' }]);
  });
});

test.each<[string, JsonObject, JsonObject]>([
  ['of an agent that was not given the server', own('1'), { mcp: false }],
  ['that the server does not have', own('1', { title: 'mcp__uwf__run' }), {}],
  ['with arguments that it does not take', own('1', { rawInput: { command: 'rm -rf .' } }), {}],
  ['that is said to run a program', own('1', { kind: 'execute' }), {}],
  ['of another server', own('1', { title: 'mcp__other__thread_show' }), {}],
])('a tool is not believed to be uwf’s: one %s', async (_, call, config) => {
  const steps = config['mcp'] === false ? [{ ask: call }] : [mcp, { ask: call }];
  const { outcomes } = await run(steps, config);
  expect(outcomes.at(-1)).toEqual({ asked: 'no' });
});

test('a tool is not believed to be uwf’s before the server was asked for its tools', async () => {
  const { outcomes, refusals } = await run([{ late: true }, { ask: own('1') }, mcp, { ask: own('2') }]);
  expect([outcomes[1], outcomes[3]]).toEqual([{ asked: 'no' }, { asked: 'yes' }]);
  expect(refusals[0]).toMatch(/^the agent has not taken uwf's MCP server.*mcp: false/u);
});

test('a call that the server did not hear of is told, and believed once', async () => {
  const lied = { update: own('1', { status: 'completed' }) };
  const { outcomes, refusals } = await run([mcp, { ask: own('1') }, lied, { ask: own('2') }]);
  expect(outcomes.slice(1)).toEqual([{ asked: 'yes' }, 'told', { asked: 'no' }]);
  expect(refusals).toContain("a call was said to be of uwf's tool thread_show, and uwf's server was not asked");
});

test('what the server did hear of is no lie', async () => {
  const done = { update: own('1', { status: 'completed' }) };
  const { outcomes, refusals } = await run([mcp, { ask: own('1') }, mcp, done, { ask: own('2') }]);
  expect([outcomes[1], outcomes.at(-1)]).toEqual([{ asked: 'yes' }, { asked: 'yes' }]);
  expect(refusals).toEqual([]);
});

test('an agent that reports its result again and again is told to stop, and has replied', async () => {
  const reports = (count: number): JsonObject[] =>
    Array.from({ length: count }, () => [
      { mcp: [['report_result', { $status: 'done' }]] },
      { update: own('1') },
    ]).flat();
  // By the answer to its question, the agent has been told.
  const { outcomes, status } = await run([...reports(6), { ask: own('2') }, ...reports(20)]);
  expect(outcomes.filter(Array.isArray).length).toBeLessThan(10);
  expect(status).toBe('ended');
});

test('a tool of uwf’s that is open permits nothing else', async () => {
  const other = { toolCallId: '2', title: 'Run', kind: 'execute', rawInput: { command: 'echo evil' } };
  const renamed = own('1', { kind: 'execute', rawInput: { command: 'echo evil' } });
  const open = { ask: own('1', { status: 'in_progress' }) };
  const { outcomes } = await run([mcp, open, { ask: other }, { ask: renamed }]);
  expect(outcomes.slice(1)).toEqual([{ asked: 'yes' }, { asked: 'no' }, { asked: 'no' }]);
});
