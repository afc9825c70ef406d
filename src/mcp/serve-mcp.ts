import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import { checkValue } from '../agent/check-value.ts';
import { recordAsked } from '../agent/mcp-record.ts';
import type { AskedOfServer } from '../agent/mcp-record.ts';
import { McpStreamTransport } from '../agent/mcp-stream-transport.ts';
import { UwfError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { casTools } from './cas-tools.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';
import { parentTool } from './parent-tool.ts';
import { reportTool } from './report-tool.ts';
import { stepTool } from './step-tool.ts';
import { threadTools } from './thread-tools.ts';

/** The two ends of a connection: bytes come from one, text goes to the other. */
export type McpStreams = {
  incoming: AsyncIterable<string | Uint8Array>;
  write(text: string): unknown;
};

/** All tools of a server. */
export function mcpTools(context: McpContext): McpTool[] {
  const report = context.stepDir === undefined ? undefined : reportTool(context.stepDir, context.redaction);
  const tools = [...threadTools(context), stepTool(context), ...casTools(context), parentTool(context)];
  return report === undefined ? tools : [...tools, report];
}

/**
 * Serves threads and nodes over the Model Context Protocol until the incoming stream ends or the signal is aborted. What
 * was asked before the end is answered.
 *
 * Whatever goes wrong in a tool is an answer (`isError`) with words for the agent that called it.
 * @see https://modelcontextprotocol.io/specification
 */
export async function serveMcp(context: McpContext, streams: McpStreams, signal: AbortSignal): Promise<void> {
  const note = (asked: AskedOfServer): void => {
    if (context.stepDir !== undefined) recordAsked(context.stepDir, asked);
  };
  note({ started: true });
  const [{ Server }, protocol, { deserializeMessage }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
    import('@modelcontextprotocol/sdk/shared/stdio.js'),
  ]);
  const { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } = protocol;
  const tools = mcpTools(context);
  const working = new Set<Promise<unknown>>();
  const server = new Server(
    { name: 'uwf', version: context.version },
    { capabilities: { tools: {} }, instructions: instructions(context) },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => {
    note({ listed: tools.map(({ name, inputSchema }) => ({ name, inputSchema })) });
    return { tools: tools.map(describeTool) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `there is no tool '${params.name}'`);
    note({ called: tool.name });
    // What came as JSON is JSON.
    const call = callTool(tool, (params.arguments ?? {}) as JsonObject);
    working.add(call);
    return call.finally(() => working.delete(call));
  });

  let close = (): void => {};
  const closed = new Promise<void>((resolve) => (close = resolve));
  const incoming = untilIdle(streams.incoming, working);
  await server.connect(new McpStreamTransport({ ...streams, incoming, close }, deserializeMessage));
  const stop = (): void => void server.close();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await closed;
  signal.removeEventListener('abort', stop);
}

/** Passes a stream on, and ends only when what it asked for is done. */
async function* untilIdle(
  incoming: AsyncIterable<string | Uint8Array>,
  working: ReadonlySet<Promise<unknown>>,
): AsyncGenerator<string | Uint8Array, void, void> {
  yield* incoming;
  // What came last reaches its tool, and the answer its stream, in the turns of the event loop that follow.
  do {
    await Promise.allSettled(working);
    await new Promise((resolve) => setImmediate(resolve));
  } while (working.size > 0);
}

async function callTool(tool: McpTool, input: JsonObject): Promise<CallToolResult> {
  try {
    const mistakes = tool.checksItself ? [] : await checkValue(tool.inputSchema, input, 'input');
    if (mistakes.length > 0) return answer(mistakes.join('\n'), true);
    const value = await tool.run(input);
    return answer(typeof value === 'string' ? value : JSON.stringify(value, null, 2), false);
  } catch (error) {
    const hint = error instanceof UwfError && error.hint !== undefined ? `\n${error.hint}` : '';
    return answer(`${error instanceof Error ? error.message : String(error)}${hint}`, true);
  }
}

function answer(text: string, isError: boolean): CallToolResult {
  const value = parseJson(text);
  // The Gemini CLI (0.61) takes a text that is JSON for structured content, and then has to have an object.
  const isOdd = value !== undefined && !isJsonObject(value);
  const structured = isOdd ? { structuredContent: { result: value } } : {};
  return { content: [{ type: 'text', text }], ...structured, ...(isError && { isError }) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describeTool({ name, description, inputSchema, isReadOnly }: McpTool): {
  name: string;
  description: string;
  inputSchema: { type: 'object' };
  annotations: { readOnlyHint: boolean; openWorldHint: boolean };
} {
  const annotations = { readOnlyHint: isReadOnly, openWorldHint: false };
  // The input of every tool is an object; see `McpTool`.
  return { name, description, inputSchema: inputSchema as { type: 'object' }, annotations };
}

function instructions({ thread, stepDir }: McpContext): string {
  const where = thread === undefined ? '' : ` You work in thread ${thread}.`;
  const report = stepDir === undefined ? '' : ' Report the structured result of your work with report_result.';
  return `uwf runs workflows in this git repository; a run is a thread, and each turn of a role a step of it.${where}${report}`;
}
