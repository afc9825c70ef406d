// The room mcp: messages of the Model Context Protocol come in, and answers go out. `mcp-tools.ts` has the tools:
// threads and nodes to read, nodes to put, and a report of an agent in its turn. What a client can see ends at its
// scope, the thread that it works for. A message may be too long, no JSON, or ask for what is not there: each is an
// answer with words for the agent that asked, and the connection goes on.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import { checkValue } from '../agent/extract/extract-reply.ts';
import { recordAsked } from '../agent/mcp/mcp-record.ts';
import type { AskedOfServer } from '../agent/mcp/mcp-record.ts';
import { McpStreamTransport } from '../agent/mcp/mcp-stream-transport.ts';
import { OutputFlood } from '../agent/processes/start-program.ts';
import { whenAborted } from '../agent/processes/within.ts';
import { messageOf, UwfError } from '../errors.ts';
import { isJsonObject, parseJson } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { casTools, type McpScope, type McpTool, parentTool, reportTool, threadTools } from './mcp-tools.ts';

/** The two ends of a connection: bytes come from one, text goes to the other. */
type McpStreams = {
  incoming: AsyncIterable<string | Uint8Array>;
  write(text: string): unknown;
};

/**
 * Serves threads and nodes over the Model Context Protocol until the incoming stream ends or the signal is aborted. What
 * was asked before the end is answered.
 *
 * A line that is no message is answered with an error of JSON-RPC, and the next one is read. Whatever goes wrong in a tool is an answer (`isError`) with words for the agent that called it.
 * @throws {UwfError} `message-too-long` if the client sent a message that is too long to read
 * @see https://modelcontextprotocol.io/specification
 */
export async function serveMcp(scope: McpScope, streams: McpStreams, signal: AbortSignal): Promise<void> {
  const note = (asked: AskedOfServer): void => {
    if (scope.stepDir !== undefined) recordAsked(scope.stepDir, asked);
  };
  note({ started: true });
  const [{ Server }, protocol] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } = protocol;
  const report = scope.stepDir === undefined ? undefined : reportTool(scope.stepDir, scope.redaction);
  const others = scope.isResultOnly === true ? [] : [...threadTools, ...casTools, parentTool];
  const tools = report === undefined ? others : [...others, report];
  const working = new Set<Promise<unknown>>();
  const options = { capabilities: { tools: {} }, instructions: instructions(scope) };
  const server = new Server({ name: 'uwf', version: scope.version }, options);
  server.setRequestHandler(ListToolsRequestSchema, () => {
    note({ listed: tools.map(({ name, inputSchema }) => ({ name, inputSchema })) });
    return { tools: tools.map(describeTool) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `there is no tool '${params.name}'`);
    note({ called: tool.name });
    const call = callTool(scope, tool, isJsonObject(params.arguments) ? params.arguments : {});
    working.add(call);
    return call.finally(() => working.delete(call));
  });

  let close = (_cause?: unknown): void => {};
  const closed = new Promise<unknown>((resolve) => (close = resolve));
  const incoming = untilIdle(streams.incoming, working);
  await server.connect(new McpStreamTransport({ ...streams, incoming, close, answersFaults: true }));
  const forget = whenAborted(signal, () => void server.close());
  const cause = await closed;
  forget();
  if (!(cause instanceof OutputFlood)) return;
  throw new UwfError(`the client sent ${cause.message}`, {
    code: 'message-too-long',
    kind: 'data',
    hint: "put a long text with 'uwf cas put'",
    cause,
  });
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

async function callTool(scope: McpScope, tool: McpTool, input: JsonObject): Promise<CallToolResult> {
  try {
    const mistakes = tool.checksItself ? [] : await checkValue(tool.inputSchema, input, 'input');
    if (mistakes.length > 0) return answer(mistakes.join('\n'), true);
    const value = await tool.run(input, scope);
    return answer(typeof value === 'string' ? value : JSON.stringify(value, null, 2), false);
  } catch (error) {
    const hint = error instanceof UwfError && error.hint !== undefined ? `\n${error.hint}` : '';
    return answer(`${messageOf(error)}${hint}`, true);
  }
}

function answer(text: string, isError: boolean): CallToolResult {
  const value = parseJson(text);
  // The Gemini CLI (0.61) takes a text that is JSON for structured content, and then has to have an object.
  const isOdd = value !== undefined && !isJsonObject(value);
  const structured = isOdd ? { structuredContent: { result: value } } : {};
  return { content: [{ type: 'text', text }], ...structured, ...(isError && { isError }) };
}

function describeTool({ name, description, inputSchema, isReadOnly }: McpTool): {
  name: string;
  description: string;
  inputSchema: { type: 'object' };
  annotations: { readOnlyHint: boolean; openWorldHint: boolean };
} {
  const annotations = { readOnlyHint: isReadOnly, openWorldHint: false };
  return { name, description, inputSchema: { ...inputSchema, type: 'object' }, annotations };
}

function instructions({ thread, stepDir }: McpScope): string {
  const where = thread === undefined ? '' : ` You work in thread ${thread}.`;
  const report = stepDir === undefined ? '' : ' Report the structured result of your work with report_result.';
  return `uwf runs workflows in this git repository; a run is a thread, and each turn of a role a step of it.${where}${report}`;
}
