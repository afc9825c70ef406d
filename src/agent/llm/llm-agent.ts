import { isJsonObject, type JsonObject } from '../../json.ts';
import { asValidated, integerSchema, objectSchema, textSchema } from '../../schema/typed-schema.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { describeBuiltIn } from '../describe-built-in.ts';
import { readResult, RESULT_TOOL, resultToolDescription, resultToolSchema } from '../extract/schema-variants.ts';
import { openModel } from './ask-model.ts';
import { commandTool } from './command-tool.ts';
import { type Conversation, converse, newInput, UsageMeter } from './converse.ts';
import { fileTools, searchTool, WorkFolder } from './file-tools.ts';
import { type LlmConfig, llmConfigSchema } from './llm-config.ts';
import type { McpTools } from './mcp-tools.ts';
import { defineTool, type Tool, ToolBox, ToolFailure } from './tool-box.ts';

/** Signs of life without a word of their own are told no more often than this. */
const SIGN_MS = 500;

/** `builtin:llm`: a model behind an OpenAI-compatible server, which works with tools until it is done. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn(
  'llm',
  ['streaming', 'tools', 'mcp', 'usage', 'structured-result'],
  llmConfigSchema,
);

/**
 * Makes an agent that talks with a model.
 *
 * It has no sessions that outlive it: a role that is visited again is told the whole context. The tries of one turn are one
 * conversation.
 */
export function createAgent(config: JsonObject): Agent {
  const checked = asValidated(config, llmConfigSchema);
  let conversation: Conversation | undefined;
  return {
    run: (request) => {
      const { attempt, prompt } = request;
      const known = attempt > 0 ? conversation : undefined;
      conversation = known ?? { messages: [], prompt, turns: 0, costUsd: 0 };
      return runTurn(checked, conversation, known ? newInput(known, prompt) : prompt, request);
    },
    answers: true,
  };
}

async function runTurn(
  config: LlmConfig,
  conversation: Conversation,
  input: string,
  request: AgentRequest,
): Promise<AgentReply> {
  request.signal.throwIfAborted();
  const opened = await openModel(config, request.env);
  const meter = new UsageMeter();
  const onSign = throttled(() => request.emit({ kind: 'usage', usage: meter.total }));
  let result: JsonObject | undefined;
  const { box, close } = await openToolBox(config, request, {
    redact: opened.redact,
    onResult: (meta) => void (result = meta),
    onSign,
  });
  try {
    const talk = { config, opened, conversation, box, meter, onSign };
    const system = instruction(box.tools.length > 1);
    return await converse({ ...talk, system, result: () => result }, input, request);
  } finally {
    await close();
  }
}

/** @param hasWork whether there are tools beside the one that reports the result */
function instruction(hasWork: boolean): string {
  const work =
    'You do your work by calling tools. Their paths start at the working folder, and nothing outside of it can be touched. ' +
    'A tool that fails says why: correct the call, or go another way.';
  const end = `When you are done, write your text without front matter and, in the same answer, call ${RESULT_TOOL} with the fields that the instructions ask for as front matter. Your work ends with that call. A reply that begins with the front matter itself will do as well.`;
  return hasWork ? `${work}\n\n${end}` : end;
}

function throttled(tell: () => void): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < SIGN_MS) return;
    lastMs = nowMs;
    tell();
  };
}

const DEFAULT_RESULT_CHARACTERS = 30_000;

type ToolEvents = {
  redact: (text: string) => string;
  onResult: (meta: JsonObject) => void;
  onSign: () => void;
};

/**
 * Puts the tools of a turn together: those of uwf, and those of the MCP servers that the configuration names, which run
 * until `close`. In a test of the agent there is only the tool that reports the result.
 * @throws {AgentBroken} if an MCP server does not answer, or `tools` names one that is not there
 */
async function openToolBox(
  config: LlmConfig,
  request: AgentRequest,
  { redact, onResult, onSign }: ToolEvents,
): Promise<{ box: ToolBox; close: () => Promise<void> }> {
  const folder = await WorkFolder.open(request);
  const maxCharacters = config.maxToolResultCharacters ?? DEFAULT_RESULT_CHARACTERS;
  const own: Tool[] = [
    ...fileTools(folder),
    searchTool(folder),
    commandTool(folder, request, config, { onOutput: onSign, maxCharacters }),
    ...ownThreadTools(request),
  ];
  const wanted = request.withoutTools === true ? [] : config.tools;
  const servers = await connectServers({ ...config, tools: wanted }, request);
  // The result can always be reported: it touches nothing.
  const result = resultTool(request.outputSchema, onResult);
  const offered = [...own, ...servers.tools, result];
  const unknown = wanted?.find((name) => !offered.some((tool) => isCalled(tool, name)));
  if (unknown !== undefined) {
    await servers.close();
    throw new AgentBroken(`'tools' names '${unknown}', which there is not`, {
      hint: `there is ${offered.map(({ name, called = name }) => called).join(', ')}`,
    });
  }
  const isWanted = (tool: Tool): boolean => wanted?.some((name) => isCalled(tool, name)) ?? true;
  const tools = offered.filter((tool) => tool === result || isWanted(tool));
  return {
    box: new ToolBox(tools, { emit: (event) => request.emit(event), redact, maxCharacters }),
    close: servers.close,
  };
}

function isCalled(tool: Tool, name: string): boolean {
  return tool.name === name || tool.called === name;
}

async function connectServers(
  { mcpServers = {}, tools }: Pick<LlmConfig, 'mcpServers'> & { tools: readonly string[] | undefined },
  request: AgentRequest,
): Promise<McpTools> {
  const servers = Object.entries(mcpServers);
  // One of which no tool is wanted is not started.
  const wanted = servers.filter(([server]) => tools?.some((name) => name.startsWith(`${server}__`)) ?? true);
  if (wanted.length === 0) return { tools: [], close: () => Promise.resolve() };
  const { connectMcpServers } = await import('./mcp-tools.ts');
  return connectMcpServers(Object.fromEntries(wanted), request);
}

/** The tool by which the model reports its structured result; `onResult` gets one that the role's schema accepts. */
function resultTool(schema: JsonObject, onResult: (meta: JsonObject) => void): Tool {
  return {
    name: RESULT_TOOL,
    description: resultToolDescription('your work ends with it, so write your text in the same answer'),
    inputSchema: resultToolSchema(schema),
    checksItself: true,
    async run(input) {
      const result = await readResult(input, schema);
      if (result.kind === 'invalid') throw new ToolFailure(result.errors.join('\n'));
      onResult(result.meta);
      return 'The result is noted. If another call of this answer failed, correct that and report the result again.';
    },
  };
}

/** The tools that read the thread's own history and its store of nodes, and put texts into it. */
function ownThreadTools({ cas, readThread }: Pick<AgentRequest, 'cas' | 'readThread'>): Tool[] {
  return [
    defineTool({
      name: 'thread_read',
      description:
        'Reads what was said before in this run: the task and the replies of all roles, the newest ones last.',
      input: objectSchema(
        {},
        {
          limit: integerSchema('only the last so many (20)', 1, { maximum: 100 }),
          before: integerSchema('only steps before the one with this number', 1),
        },
      ),
      async run({ limit = 20, before }) {
        const said = await readThread({ limit, ...(before !== undefined && { before }) });
        return said.map((entry) => JSON.stringify(entry, null, 2)).join('\n') || '[nothing was said]';
      },
    }),
    defineTool({
      name: 'cas_get',
      description: 'Reads a node of this run by its hash: a text that was put, a step, an artifact.',
      input: objectSchema({ hash: textSchema('13 characters') }, {}),
      async run({ hash }) {
        const payload = await cas.get(hash.toUpperCase());
        if (payload === undefined) throw new ToolFailure(`this run has no node ${hash}`);
        const only = isJsonObject(payload) && Object.keys(payload).length === 1 ? payload['text'] : payload;
        return typeof only === 'string' ? only : JSON.stringify(payload, null, 2);
      },
    }),
    defineTool({
      name: 'cas_put',
      description: 'Stores a text with this run for good and gives its hash, to be named in a result.',
      input: objectSchema({ text: textSchema() }, {}),
      run: ({ text }) => cas.put(text),
    }),
  ];
}
