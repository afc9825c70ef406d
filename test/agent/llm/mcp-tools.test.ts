import { expect, test } from 'vitest';
import { connectMcpServers } from '../../../src/agent/llm/mcp-tools.ts';
import { agentRequest } from '../../helpers/agent-request.ts';

/** A server without the SDK: its list of tools has as many pages as the argument says. */
const program = `
  const lines = require('node:readline').createInterface({ input: process.stdin });
  const last = Number(process.argv[1]);
  let pages = 0;
  lines.on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const about = () => ({
      protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'test', version: '1' },
    });
    const page = () => ({
      tools: [{ name: 'tool' + (pages += 1), inputSchema: { type: 'object' } }],
      ...(pages < last && { nextCursor: 'more' }),
    });
    if (id === undefined) return;
    const result = method === 'initialize' ? about() : page();
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
`;

const server = (pages: number): { test: { command: string; args: string[] } } => ({
  test: { command: process.execPath, args: ['-e', program, String(pages)] },
});

test('tools of all pages of a list are offered', async () => {
  const { tools, close } = await connectMcpServers(server(3), agentRequest());
  await close();
  expect(tools.map(({ name }) => name)).toEqual(['test__tool1', 'test__tool2', 'test__tool3']);
});

test('a server whose list of tools has no end is broken', async () => {
  const connected = connectMcpServers(server(100_000_000), agentRequest());
  await expect(connected).rejects.toMatchObject({ code: 'agent-broken' });
  await expect(connected).rejects.toThrow("'test' does not end its list of tools");
});
