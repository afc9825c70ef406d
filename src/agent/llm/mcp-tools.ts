import { createHash } from 'node:crypto';
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { messageOf } from '../../errors.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { objectSchema, textSchema } from '../../schema/typed-schema.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { AgentRequest } from '../contract.ts';
import { McpStreamTransport } from '../mcp/mcp-stream-transport.ts';
import { endProcessGroup } from '../processes/process-group.ts';
import { closeStreams, scrubbedEnvironment, startProgram } from '../processes/start-program.ts';
import { whenAborted } from '../processes/within.ts';
import type { McpServerConfig } from './llm-config.ts';
import { defineTool, type Tool, ToolFailure } from './tool-box.ts';

const CONNECT_MS = 30_000;
const callLimits = { timeout: 600_000, maxTotalTimeout: 600_000 };
const GRACE_MS = 2000;
/** A list of tools has so many pages at most: a server may always name a next one. */
const MAX_PAGES = 100;

/** The tools of the servers that a configuration names, and how to let go of those servers. */
export type McpTools = { tools: Tool[]; close: () => Promise<void> };

/** Connects to servers of the Model Context Protocol and offers their tools under `server__tool`. */
export async function connectMcpServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  request: Pick<AgentRequest, 'cwd' | 'env' | 'emit' | 'signal'>,
): Promise<McpTools> {
  const connections: Connection[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(connections.map((connection) => connection.close()));
  };
  try {
    const tools: Tool[] = [];
    for (const [name, config] of Object.entries(servers)) {
      const connection = await connect(name, config, request);
      connections.push(connection);
      tools.push(...(await toolsOf(name, connection.client, request.signal)));
    }
    return { tools, close };
  } catch (error) {
    await close();
    if (request.signal.aborted) throw request.signal.reason;
    throw error;
  }
}

type Connection = { client: McpClient; close: () => Promise<void> };

async function connect(
  name: string,
  config: McpServerConfig,
  request: Pick<AgentRequest, 'cwd' | 'env' | 'emit' | 'signal'>,
): Promise<Connection> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const client = new Client({ name: 'uwf', version: '1' });
  const { transport, end } = await open(config, request);
  const close = async (): Promise<void> => {
    await client.close().catch(() => {});
    await end();
  };
  try {
    await underOwnSignal(request.signal, (own) => client.connect(transport, { timeout: CONNECT_MS, signal: own }));
  } catch (cause) {
    await close();
    request.signal.throwIfAborted();
    throw new AgentBroken(`the MCP server '${name}' does not answer: ${messageOf(cause)}`, {
      hint: `correct 'mcpServers.${name}' of the agent in .uwf/config.yaml`,
      cause,
    });
  }
  return { client, close };
}

async function open(
  config: McpServerConfig,
  { cwd, env, emit }: Pick<AgentRequest, 'cwd' | 'env' | 'emit'>,
): Promise<{ transport: Transport; end: () => Promise<void> }> {
  if ('url' in config) {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const requestInit = { headers: config.headers ?? {} };
    const transport = new StreamableHTTPClientTransport(new URL(config.url), { requestInit });
    return { transport, end: () => Promise.resolve() };
  }
  const { child, pgid } = await startProgram({
    argv: [config.command, ...(config.args ?? [])],
    cwd,
    env: { ...scrubbedEnvironment(env), ...config.env },
  });
  emit({ kind: 'process-group', pgid });
  child.stderr.resume();
  const write = (text: string): boolean => child.stdin.write(text);
  const transport = new McpStreamTransport({ incoming: child.stdout, write, close: () => child.stdin.end() });
  return {
    transport,
    async end() {
      await endProcessGroup(pgid, GRACE_MS);
      closeStreams(child);
    },
  };
}

async function toolsOf(server: string, client: McpClient, signal: AbortSignal): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    pages += 1;
    if (pages > MAX_PAGES)
      throw new AgentBroken(`the MCP server '${server}' does not end its list of tools: ${MAX_PAGES} pages and more`, {
        hint: `correct 'mcpServers.${server}' of the agent in .uwf/config.yaml`,
      });
    const params = cursor === undefined ? {} : { cursor };
    const page = await underOwnSignal(signal, (own) => client.listTools(params, { timeout: CONNECT_MS, signal: own }));
    for (const { name, description, inputSchema } of page.tools) {
      const called = `${server}__${name}`;
      tools.push({
        name: nameForModel(called),
        called,
        description: description ?? '',
        inputSchema: isJsonObject(inputSchema) ? inputSchema : {},
        run: (input, signal) => callTool(client, name, input, signal),
      });
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  const reading = resourceTool(server, client);
  const isOffered = client.getServerCapabilities()?.resources !== undefined;
  return isOffered && tools.every(({ name }) => name !== reading.name) ? [...tools, reading] : tools;
}

/** Servers of models take 64 letters, digits, `_` and `-`. A name that is changed ends with what tells it from others. */
function nameForModel(name: string): string {
  if (/^[\w-]{1,64}$/u.test(name)) return name;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replaceAll(/[^\w-]/gu, '_').slice(0, 55)}_${mark}`;
}

async function callTool(client: McpClient, name: string, input: JsonObject, signal: AbortSignal): Promise<string> {
  const result = await underOwnSignal(signal, (own) =>
    client.callTool({ name, arguments: input }, undefined, { ...callLimits, signal: own }),
  );
  const text = textOfContent(result.content);
  if (result.isError === true) throw new ToolFailure(text);
  return text === '' && result.structuredContent !== undefined ? JSON.stringify(result.structuredContent) : text;
}

/** Reads what a result has linked to. */
function resourceTool(server: string, client: McpClient): Tool {
  return defineTool({
    name: `${server}__read_resource`,
    description: `Reads a resource of ${server} by its URI, such as one that a result links to.`,
    input: objectSchema({ uri: textSchema() }, {}),
    async run({ uri }, signal) {
      const { contents } = await underOwnSignal(signal, (own) =>
        client.readResource({ uri }, { ...callLimits, signal: own }),
      );
      return textOfContent(contents.map((resource) => ({ type: 'resource', resource })));
    },
  });
}

/** Makes a request under a signal of its own: the SDK leaves its listener on the one that it is given. */
async function underOwnSignal<Result>(
  signal: AbortSignal,
  request: (own: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const own = new AbortController();
  const forget = whenAborted(signal, () => own.abort(signal.reason));
  try {
    return await request(own.signal);
  } finally {
    forget();
  }
}

/**
 * Makes a text for the model of what a server answered: texts as they are, a link with all that leads to it, what a resource
 * has in it. Of what is no text only the kind and the size are told.
 * @see https://modelcontextprotocol.io/specification/2025-06-18/server/tools#tool-result
 */
function textOfContent(parts: unknown): string {
  return Array.isArray(parts) ? parts.map(textOfPart).join('\n') : '';
}

function textOfPart(part: unknown): string {
  if (!isJsonObject(part)) return '';
  const { type, text, resource, data } = part;
  if (type === 'resource_link')
    return `[link ${wordsOf(part, ['uri', 'name', 'title', 'description', 'mimeType', 'size'])}]`;
  if (type === 'resource' && isJsonObject(resource)) return textOfResource(resource);
  if (typeof text === 'string') return text;
  return `[${JSON.stringify(type)} ${wordsOf(part, ['mimeType'])}${sizeOf(data)}, which is not shown here]`;
}

/** Makes a text of a resource: where it is, and its content. */
function textOfResource(resource: { [key: string]: unknown }): string {
  const { text, blob } = resource;
  const where = `[resource ${wordsOf(resource, ['uri', 'mimeType'])}`;
  return typeof text === 'string' ? `${where}]\n${text}` : `${where}${sizeOf(blob)}, which is not shown here]`;
}

function wordsOf(values: { [key: string]: unknown }, names: readonly string[]): string {
  return names
    .flatMap((name) => (values[name] === undefined ? [] : `${name}=${JSON.stringify(values[name])}`))
    .join(' ');
}

function sizeOf(base64: unknown): string {
  return typeof base64 === 'string' ? ` ${Buffer.byteLength(base64, 'base64')} bytes` : '';
}
