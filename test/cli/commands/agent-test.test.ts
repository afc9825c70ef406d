import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { JsonObject } from '../../../src/json.ts';
import { fixtureAgent, temporaryFolder } from '../../helpers/agent-request.ts';
import { createCliRepository } from '../../helpers/cli.ts';
import type { CliRepository } from '../../helpers/cli.ts';
import { startModelServer } from '../../helpers/model-server.ts';
import type { ModelRequest, ScriptedAnswer } from '../../helpers/model-server.ts';

type Tested = {
  repository: CliRepository;
  code: number;
  outcomes: Record<string, string>;
  details: Record<string, string>;
  hints: Record<string, string | null>;
};

/** Configures an agent and runs `uwf agent test` on it. */
async function testAgent(
  agent: { package: string; config: JsonObject },
  options: { files?: Record<string, string>; env?: Record<string, string>; args?: string[]; limits?: JsonObject } = {},
): Promise<Tested> {
  const config = JSON.stringify({ agents: { tested: agent }, limits: options.limits ?? {} });
  const repository = createCliRepository({ '.uwf/config.yaml': config, ...options.files });
  const env = { PATH: process.env['PATH'], ...options.env };
  const { code, stdout } = await repository.uwf(['agent', 'test', 'tested', '--json', ...(options.args ?? [])], {
    env,
  });
  const checks = JSON.parse(stdout) as { check: string; outcome: string; detail: string; hint: string | null }[];
  return {
    repository,
    code,
    hints: Object.fromEntries(checks.map(({ check, hint }) => [check, hint])),
    outcomes: Object.fromEntries(checks.map(({ check, outcome }) => [check, outcome])),
    details: Object.fromEntries(checks.map(({ check, detail }) => [check, detail])),
  };
}

const na = 'not applicable';
const ready: ScriptedAnswer = { text: '---\n$status: ready\n---\nI am.' };

test('a model that replies as it has to', async () => {
  const server = await startModelServer([ready]);
  const { code, outcomes } = await testAgent({ package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } });
  expect({ code, outcomes }).toEqual({
    code: 0,
    outcomes: {
      found: 'ok',
      version: 'ok',
      authenticated: 'ok',
      'structured output': 'ok',
      usage: 'ok',
      'uwf tools': na,
      'session resume': na,
    },
  });
  expect(JSON.stringify(server.requests[0]!.messages)).toContain('test of the connection');
});

test.each([
  [
    'has no price, under a limit',
    {},
    { maxCostUsd: 1 },
    [0, na, 'reports no cost and has no price, so maxCostUsd does'],
  ],
  ['is refused', {}, { maxCostUsd: 1, unknownUsage: 'refuse' }, [6, 'failed', 'maxCostUsd does not hold']],
  ['has a price', { price: { inputPerMTok: 1e5, outputPerMTok: 0 } }, { maxCostUsd: 9 }, [0, 'ok', '1 turn, $1.0000']],
  ['has neither', {}, { maxTokens: 9 }, [0, 'ok', '10 tokens in, 5 out, 1 turn, no cost']],
])('a model that %s, and what it reports', async (_what, agent, limits, [code, outcome, detail]) => {
  const server = await startModelServer([ready]);
  const config = { baseUrl: server.url, model: 'm' };
  const tested = await testAgent({ package: 'builtin:llm', config, ...agent }, { limits });
  expect(tested).toMatchObject({ code, outcomes: { usage: outcome } });
  expect(tested.details['usage']).toContain(detail);
  expect(tested.hints['usage']).toEqual(
    outcome === 'ok' ? null : expect.stringContaining('add a price to agents.tested'),
  );
});

test('a model is offered no tool but that of the result, and changes nothing', async () => {
  const canary = join(temporaryFolder(), 'started');
  const call = (name: string, input: JsonObject): ScriptedAnswer => ({ calls: [{ name, arguments: input }] });
  const server = await startModelServer([
    call('write_file', { path: 'notes.md', content: 'changed' }),
    call('run_command', { command: 'echo changed > notes.md' }),
    call('files__write', {}),
    call('report_result', { result: { $status: 'ready' } }),
  ]);
  const mcpServers = { files: { command: 'touch', args: [canary] } };
  const config = { baseUrl: server.url, model: 'm', mcpServers, tools: ['write_file', 'run_command', 'files__write'] };
  const { code, repository } = await testAgent({ package: 'builtin:llm', config }, { files: { 'notes.md': 'mine' } });
  expect(code).toBe(0);
  expect(server.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual(
    Array.from({ length: 4 }, () => ['report_result']),
  );
  expect(readFileSync(join(repository.dir, 'notes.md'), 'utf8')).toBe('mine');
  expect(existsSync(canary)).toBe(false);
});

test('an agent works in an empty folder, which is removed, with the files of its command line', async () => {
  const seen = join(temporaryFolder(), 'seen');
  const script = `{ pwd; ls -A; } > '${seen}'; echo changed > notes.md; printf -- '---\n$status: ready\n---\n'`;
  const { code, repository } = await testAgent(
    { package: 'builtin:command', config: { argv: ['sh', 'tools/agent.sh'], answers: true } },
    { files: { 'tools/agent.sh': script, 'notes.md': 'mine' } },
  );
  expect(code).toBe(0);
  const [folder = '', ...files] = readFileSync(seen, 'utf8').trim().split('\n');
  expect(files).toEqual([]);
  expect(existsSync(folder)).toBe(false);
  expect(readFileSync(join(repository.dir, 'notes.md'), 'utf8')).toBe('mine');
});

test('an agent over ACP is permitted nothing, whatever its permissions are', async () => {
  const folder = temporaryFolder();
  const [written, run] = [join(folder, 'written'), join(folder, 'run')];
  const steps = [
    { mcp: [['report_result', { result: { $status: 'ready' } }]] },
    { write: '$CWD/a' },
    { write: written },
    { run: { command: 'touch', args: [run] } },
    { ask: { toolCallId: '1', kind: 'execute', title: 'ls', rawInput: { command: 'ls' } } },
  ];
  const command = [process.execPath, fixtureAgent('lying-acp-agent.mjs'), JSON.stringify(steps)];
  const rules = [{ paths: [`${folder}/**`], answer: 'allow' }];
  const config = { command, permissions: { rules, default: 'allow' } };
  const { details } = await testAgent({ package: 'builtin:acp', config });
  expect(details).toMatchObject({ 'structured output': 'reported apart', 'uwf tools': "it takes uwf's MCP server" });
  expect([written, run].map((path) => existsSync(path))).toEqual([false, false]);
});

test('a month is time enough for a turn', async () => {
  const server = await startModelServer([ready]);
  const agent = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } };
  const { code, details } = await testAgent(agent, { args: ['--timeout', '30d'] });
  expect({ code, details }).toMatchObject({ code: 0, details: { authenticated: 'it takes turns' } });
});

test('a model that replies otherwise fails at that, with 6', async () => {
  const server = await startModelServer([{ text: 'Hello!' }]);
  const tested = await testAgent({ package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } });
  expect(tested).toMatchObject({ code: 6, outcomes: { authenticated: 'ok', 'structured output': 'failed' } });
});

test('a key that is not accepted, or not there, fails at being authenticated', async () => {
  const server = await startModelServer([{ status: 401 }]);
  const agent = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm', apiKeyEnv: 'SOME_KEY' } };
  for (const env of [{ SOME_KEY: 'x' }, {}]) {
    const { code, outcomes, details, hints } = await testAgent(agent, { env });
    expect(code).toBe(6);
    expect(outcomes).toMatchObject({ found: 'ok', authenticated: 'failed', 'structured output': na });
    expect(details['authenticated']).toMatch(/SOME_KEY|not accepted/u);
    expect(hints['authenticated']).toContain('SOME_KEY');
  }
});

test('one that does not answer in time', async () => {
  const server = await startModelServer([{ silent: true }]);
  const agent = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } };
  const { code, details } = await testAgent(agent, { args: ['--timeout', '300ms'] });
  expect(code).toBe(6);
  expect(details['structured output']).toBe('it did not answer within 0.3 s');
});

test('a program of one’s own, there and not there', async () => {
  const argv = ['node', '-e', 'console.log("fine")'];
  const config = { argv, statuses: { 0: 'passed' }, answers: true };
  const there = await testAgent({ package: 'builtin:command', config });
  expect(there).toMatchObject({
    code: 0,
    outcomes: { authenticated: na, 'structured output': 'ok', 'session resume': na },
  });
  const missing = await testAgent({ package: 'builtin:command', config: { argv: ['no-such-program'] } });
  expect(missing).toMatchObject({ code: 6, outcomes: { found: 'failed', version: 'ok', 'structured output': na } });
});

test('a program that was not made to be asked is looked for, and not run', async () => {
  const canary = join(temporaryFolder(), 'ran');
  const there = await testAgent({ package: 'builtin:command', config: { argv: ['touch', canary] } });
  expect(there).toMatchObject({
    code: 0,
    outcomes: { found: 'ok', version: 'ok', authenticated: na, 'structured output': na, 'session resume': na },
    details: { found: expect.stringMatching(/\/touch$/u), 'structured output': expect.stringContaining('not run') },
  });
  expect(existsSync(canary)).toBe(false);
  const missing = await testAgent({ package: 'builtin:command', config: { argv: ['no-such-program'] } });
  expect(missing).toMatchObject({ code: 6, outcomes: { found: 'failed', 'structured output': na } });
  expect(missing.hints['found']).toContain('PATH');
});

test.each(['builtin:human', 'builtin:scripted', 'builtin:workflow'])('%s is found, and takes no turn', async (name) => {
  const config = { 'builtin:human': {}, 'builtin:scripted': { replies: {} }, 'builtin:workflow': { workflow: 'w' } }[
    name
  ]!;
  const { code, outcomes } = await testAgent({ package: name, config });
  expect({ code, outcomes }).toEqual({
    code: 0,
    outcomes: {
      found: 'ok',
      version: 'ok',
      authenticated: na,
      'structured output': na,
      usage: na,
      'uwf tools': na,
      'session resume': na,
    },
  });
});

test('a package that is not installed', async () => {
  const { code, outcomes } = await testAgent({ package: 'uwf-agent-nowhere', config: {} });
  expect(code).toBe(6);
  expect(outcomes).toEqual({
    found: 'failed',
    version: na,
    authenticated: na,
    'structured output': na,
    usage: na,
    'uwf tools': na,
    'session resume': na,
  });
});

test.each([
  ['keeps', 'ok', 0],
  ['loses', 'failed', 6],
])('an agent that %s its session', async (how, outcome, exitCode) => {
  const files = {
    'node_modules/uwf-agent-mine/package.json':
      '{"name":"uwf-agent-mine","version":"3.2.1","type":"module","exports":"./index.js"}',
    'node_modules/uwf-agent-mine/index.js': `
      const words = new Map();
      export const packageDescriptor = { name: 'uwf-agent-mine', version: '3.2.1', capabilities: ['sessions'], configSchema: { type: 'object' } };
      export const createAgent = () => ({
        answers: true,
        async run({ prompt, session }) {
          const word = /the word (w\\w+)/.exec(prompt)?.[1];
          if (session === undefined) words.set('s', word);
          const known = session !== undefined && ${JSON.stringify(how)} === 'keeps' ? words.get(session) : 'nothing';
          return { kind: 'reply', text: known, meta: { $status: 'ready', word: known }, session: 's', agentVersion: '9.9.9' };
        },
      });`,
  };
  const tested = await testAgent({ package: 'uwf-agent-mine', config: {} }, { files });
  expect(tested).toMatchObject({
    code: exitCode,
    outcomes: { found: 'ok', version: 'ok', 'structured output': 'ok', 'session resume': outcome },
    details: { version: '9.9.9' },
  });
});

test.each([
  ['takes uwf’s server', ['[]'], {}, 'ok', null],
  ['takes no server', ['[{"late":true}]'], {}, 'failed', expect.stringContaining('say mcp: false in its config')],
  ['is not given it', ['[]'], { mcp: false }, na, null],
])('an agent over ACP that %s', async (_, words, more, outcome, hint) => {
  const command = [process.execPath, fixtureAgent('lying-acp-agent.mjs'), ...words];
  const tested = await testAgent({ package: 'builtin:acp', config: { command, ...more } });
  expect(tested.outcomes['uwf tools'], JSON.stringify(tested)).toBe(outcome);
  expect(tested.hints['uwf tools']).toEqual(hint);
});

test('a name that is not configured is a mistake of the command line', async () => {
  const repository = createCliRepository({ '.uwf/config.yaml': '{"agents":{"me":{"package":"builtin:human"}}}' });
  await repository.says('agent test mo', 2, "'me'");
});

test('a person is told in lines, failed ones with what to try', async () => {
  const server = await startModelServer((request: ModelRequest) =>
    request.messages.length > 0 ? { status: 403 } : ready,
  );
  const config = JSON.stringify({
    agents: { m: { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } } },
  });
  const repository = createCliRepository({ '.uwf/config.yaml': config });
  const { code, stdout, stderr } = await repository.uwf(['agent', 'test', 'm']);
  expect(code).toBe(6);
  expect(stdout).toMatch(/^found +ok +builtin:llm$/mu);
  expect(stdout).toMatch(/^authenticated +failed +the key for 'm' is not accepted/mu);
  expect(stderr).toContain('apiKeyEnv');
});

test('what an agent puts while it is tried lies under a thread of its own, and nothing of it is left', async () => {
  const program = `id=$(echo a note | uwf cas put -) && uwf cas list --json > "$UWF_STEP_DIR/../listed" && printf -- '---\n$status: ready\n---\n%s' "$id"`;
  const config = JSON.stringify({
    agents: {
      tested: { package: 'builtin:command', config: { argv: ['sh', '-c', program], answers: true, output: 'stdout' } },
    },
  });
  const { uwf, git } = createCliRepository({ '.uwf/config.yaml': config });
  const before = git('for-each-ref');
  const result = await uwf(['agent', 'test', 'tested', '--json'], { env: { PATH: process.env['PATH'] } });
  expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('"structured output","outcome":"ok"') });
  expect(git('for-each-ref')).toBe(before);
  expect((await uwf(['thread', 'list', '--all', '--json'])).stdout.trim()).toBe('[]');
});
