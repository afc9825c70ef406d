import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { createAgent } from '../../../src/agent/llm/llm-agent.ts';
import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, type ObservedRequest, temporaryFolder } from '../../helpers/agent-request.ts';
import { type ModelServer, type ScriptedCall, startModelServer } from '../../helpers/model-server.ts';

const sdk = resolve(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/sdk/dist/esm');

/** A server with the official SDK: `add` adds, `env` tells its environment, `hang` never answers. */
function serverProgram(): string {
  const file = join(temporaryFolder(), 'server.mjs');
  writeFileSync(
    file,
    `import { McpServer } from '${sdk}/server/mcp.js';
     import { StdioServerTransport } from '${sdk}/server/stdio.js';
     import { z } from '${resolve(sdk, '../../../../zod/index.js')}';
     const server = new McpServer({ name: 'test', version: '1' });
     const say = (text) => ({ content: [{ type: 'text', text }] });
     server.registerTool('add', { description: 'adds', inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => say(String(a + b)));
     server.registerTool('env', { description: 'tells' }, () => say(JSON.stringify(process.env)));
     server.registerTool('fs.read file', { description: 'has a name that models do not take' }, () => say('read'));
     server.registerTool('n'.repeat(70) + '1', { description: 'one long name' }, () => say('first'));
     server.registerTool('n'.repeat(70) + '2', { description: 'another' }, () => say('second'));
     server.registerTool('link', { description: 'links' }, () => ({ content: [
       { type: 'text', text: 'See:' },
       { type: 'resource_link', uri: 'notes://plan/7', name: 'plan', description: 'what is to be done', mimeType: 'text/plain' },
       { type: 'resource', resource: { uri: 'notes://short', mimeType: 'text/plain', text: 'All of it.' } },
       { type: 'resource', resource: { uri: 'notes://blob', blob: 'AAAA' } },
       { type: 'image', mimeType: 'image/png', data: 'AAAAAAAA' },
     ] }));
     server.registerResource('plan', 'notes://plan/7', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'First the roof.' }] }));
     server.registerTool('fail', { description: 'fails' }, () => { throw new Error('no such luck'); });
     server.registerTool('hang', { description: 'hangs' }, () => new Promise(() => setInterval(() => {}, 1000)));
     await server.connect(new StdioServerTransport());`,
  );
  return file;
}

async function start(
  calls: readonly ScriptedCall[],
  servers: JsonObject,
  changes: Parameters<typeof agentRequest>[0] = {},
  config: JsonObject = {},
): Promise<{ turn: Promise<unknown>; request: ObservedRequest; server: ModelServer }> {
  const server = await startModelServer([{ calls }, { text: 'Done.' }]);
  const request = agentRequest(changes);
  const agent = createAgent({ baseUrl: server.url, model: 'm', mcpServers: servers, ...config });
  return { turn: agent.run(request), request, server };
}

function groupsOf({ events }: ObservedRequest): number[] {
  return events.flatMap((event) => (event.kind === 'process-group' ? [event.pgid] : []));
}

test('tools of a server are offered under its name and called, and the server is gone after the turn', async () => {
  const env = { PATH: process.env['PATH'] ?? '', LLM_KEY: 'sk-secret' };
  const servers = { calc: { command: process.execPath, args: [serverProgram()], env: { GIVEN: 'yes' } } };
  const calls = [
    { name: 'calc__add', arguments: { a: 2, b: 40 } },
    { name: 'calc__add', arguments: { a: 'two' } },
    { name: 'calc__fail', arguments: {} },
    { name: 'calc__env', arguments: {} },
  ];
  const { turn, request, server } = await start(calls, servers, { env });
  expect(await turn).toMatchObject({ kind: 'reply', text: 'Done.' });
  expect(server.requests[0]!.tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['calc__add', 'calc__env', 'report_result']),
  );
  const results = request.events.filter((event) => event.kind === 'tool-result');
  expect(results.map(({ result, isError = false }) => [result.split('\n')[0], isError]).slice(0, 3)).toEqual([
    ['42', false],
    [expect.stringContaining('arguments'), true],
    [expect.stringContaining('no such luck'), true],
  ]);
  expect(JSON.parse(results[3]!.result)).toMatchObject({ GIVEN: 'yes' });
  expect(results[3]!.result).not.toContain('sk-secret');
  expect(groupsOf(request)).toHaveLength(1);
  expect(groupsOf(request).filter(isGroupAlive)).toEqual([]);
});

const calc = (): JsonObject => ({ command: process.execPath, args: [serverProgram()] });
const resultsOf = ({ events }: ObservedRequest): string[] =>
  events.flatMap((event) => (event.kind === 'tool-result' ? [event.result] : []));

test('`tools` restricts the tools of servers as those of uwf, and starts no server in vain', async () => {
  const offered = async (tools: string[]): Promise<{ names: string[]; started: number }> => {
    const { turn, request, server } = await start([], { calc: calc(), other: calc() }, {}, { tools });
    await turn;
    return { names: server.requests[0]!.tools.map(({ name }) => name), started: groupsOf(request).length };
  };
  expect(await offered(['calc__add', 'list'])).toEqual({ names: ['list', 'calc__add', 'report_result'], started: 1 });
  expect(await offered(['read_file'])).toEqual({ names: ['read_file', 'report_result'], started: 0 });
  expect(await offered([])).toEqual({ names: ['report_result'], started: 0 });
  expect((await offered(['report_result', 'other__env'])).names).toEqual(['other__env', 'report_result']);
  const { turn } = await start([], { calc: calc() }, {}, { tools: ['calc__sub'] });
  await expect(turn).rejects.toMatchObject({ code: 'agent-broken', hint: expect.stringContaining('calc__add') });
});

test('a tool whose name models do not take is offered under another, and named in `tools` as the server has it', async () => {
  const long = `calc__${'n'.repeat(70)}`;
  const config = { tools: ['calc__fs.read file', `${long}1`, `${long}2`] };
  const { turn, request, server } = await start([], { calc: calc() }, {}, config);
  await turn;
  const names = server.requests[0]!.tools.map(({ name }) => name).filter((name) => name !== 'report_result');
  expect(new Set(names).size).toBe(3);
  expect(names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/u.test(name))).toEqual([]);
  const again = await start(
    names.map((name) => ({ name, arguments: {} })),
    { calc: calc() },
    {},
    config,
  );
  await again.turn;
  expect(resultsOf(again.request).toSorted()).toEqual(['first', 'read', 'second']);
  expect(resultsOf(request)).toEqual([]);
});

test('links and resources of a result reach the model, which can follow the links', async () => {
  const calls = [
    { name: 'calc__link', arguments: {} },
    { name: 'calc__read_resource', arguments: { uri: 'notes://plan/7' } },
    { name: 'calc__read_resource', arguments: { uri: 'notes://no/such' } },
  ];
  const { turn, request, server } = await start(calls, { calc: calc() });
  await turn;
  const [links, followed, refused] = resultsOf(request);
  expect(links).toBe(
    [
      'See:',
      '[link uri="notes://plan/7" name="plan" description="what is to be done" mimeType="text/plain"]',
      '[resource uri="notes://short" mimeType="text/plain"]',
      'All of it.',
      '[resource uri="notes://blob" 3 bytes, which is not shown here]',
      '["image" mimeType="image/png" 6 bytes, which is not shown here]',
    ].join('\n'),
  );
  expect(followed).toBe('[resource uri="notes://plan/7"]\nFirst the roof.');
  expect(refused).toContain('notes://no/such');
  expect(JSON.stringify(server.requests[1]!.messages)).toContain('notes://plan/7');
});

test.each([
  ['one answer', 1, 60],
  ['sixty answers', 60, 1],
])('sixty calls in %s raise no warning', async (_, answers, each) => {
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  const { signal } = new AbortController();
  const calls = Array.from({ length: each }, (_, a) => ({ name: 'calc__add', arguments: { a, b: 1 } }));
  const server = await startModelServer((_, index) => (index < answers ? { calls } : { text: 'Done.' }));
  const request = agentRequest({ signal });
  const agent = createAgent({ baseUrl: server.url, model: 'm', mcpServers: { calc: calc() }, maxTurns: 100 });
  expect(await agent.run(request)).toMatchObject({ kind: 'reply', text: 'Done.' });
  expect(resultsOf(request)).toHaveLength(60);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.map(String)).toEqual([]);
});

test('a server that does not answer a call ends with the turn', async () => {
  const controller = new AbortController();
  const servers = { slow: { command: process.execPath, args: [serverProgram()] } };
  const calls = [{ name: 'slow__hang', arguments: {} }];
  const { turn, request } = await start(calls, servers, { signal: controller.signal });
  const reason = new Error('enough');
  setTimeout(() => controller.abort(reason), 1500);
  await expect(turn).rejects.toBe(reason);
  expect(request.events.some(({ kind }) => kind === 'tool-call')).toBe(true);
  expect(groupsOf(request).filter(isGroupAlive)).toEqual([]);
});

test.each([
  ['is not there', { command: 'no-such-server' }, 'agent-missing'],
  ['ends at once', { command: 'true' }, 'agent-broken'],
  ['is no server', { url: 'http://127.0.0.1:9/mcp' }, 'agent-broken'],
])('one that %s ends the turn before the model is asked', async (_, config, code) => {
  const { turn, server } = await start([], { tool: config });
  await expect(turn).rejects.toMatchObject({ code, kind: 'agent' });
  expect(server.requests).toEqual([]);
});
