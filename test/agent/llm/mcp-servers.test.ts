import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

import { createAgent } from '../../../src/agent/llm/llm-agent.ts';
import { isGroupAlive } from '../../../src/agent/process-group.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, temporaryFolder } from '../../helpers/agent-request.ts';
import type { ObservedRequest } from '../../helpers/agent-request.ts';
import { startModelServer } from '../../helpers/model-server.ts';
import type { ModelServer, ScriptedCall } from '../../helpers/model-server.ts';

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
): Promise<{ turn: Promise<unknown>; request: ObservedRequest; server: ModelServer }> {
  const server = await startModelServer([{ calls }, { text: 'Done.' }]);
  const request = agentRequest(changes);
  const agent = createAgent({ baseUrl: server.url, model: 'm', mcpServers: servers });
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
