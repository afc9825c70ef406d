import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { McpServerStdio } from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { packageRoot } from '../../git/system/package-root.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { AgentRequest } from '../contract.ts';
import { readAsked } from '../mcp/mcp-record.ts';
import { COPILOT_SERVER } from './known-agents.ts';
import type { ToolCall } from './update-reader.ts';

/** Kinds under which no agent calls a tool of a server's. */
const OTHER_WORK = new Set(['edit', 'delete', 'move', 'execute', 'switch_mode']);

/**
 * Tells which tool calls are of uwf's own MCP server. These need no permission: the server keeps to what the thread may
 * read by itself.
 *
 * That a call is one of them is said by the agent before the server hears of it. So it is believed only of an agent that
 * has asked the server for its tools, for a tool that it has, with arguments of that tool; and no more once a call was
 * done of which the server was not asked. A call that is believed to be the server's permits nothing else.
 */
export class OwnTools {
  readonly #stepDir: string | undefined;
  /** Calls that were believed to be of the server: the tool that each named, and how much the server had heard by then. */
  readonly #believed = new Map<ToolCall, { tool: string; from: number }>();

  /** @param stepDir the folder of the step; undefined where the agent was not given the server */
  constructor(stepDir: string | undefined) {
    this.#stepDir = stepDir;
  }

  /**
   * Tells whether a call is to be taken for one of the server's.
   * @param options what the agent calls the answers to its question
   */
  isOwn(call: ToolCall, options: readonly string[] = []): boolean {
    const tool = this.#toolOf(call, options);
    if (tool === undefined || this.findLies().length > 0) return false;
    this.#believed.set(call, { tool, from: this.#called().length });
    return true;
  }

  /** The tools that the agent said to have called, and of which the server heard nothing. */
  findLies(): string[] {
    const heard = this.#called();
    const taken = new Set<number>();
    const done = [...this.#believed].filter(([call]) => call.status === 'completed').map(([, claim]) => claim);
    const lies = done.filter(({ tool, from }) => {
      const at = heard.findIndex((name, index) => index >= from && name === tool && !taken.has(index));
      taken.add(at);
      return at === -1;
    });
    return lies.map(({ tool }) => tool);
  }

  #toolOf(call: ToolCall, options: readonly string[]): string | undefined {
    const { rawInput: input } = call.fields;
    const given = isJsonObject(input) ? input : {};
    // Codex' bridge says `execute` of every call of a server's tool, which it names in the arguments and nothing beside it.
    const isCall = Object.keys(given).toSorted().join(' ') === 'arguments server tool';
    const isOther = OTHER_WORK.has(call.kind) && !(isCall && call.kind === 'execute');
    if (isOther || this.#stepDir === undefined) return undefined;
    const { server, tool, arguments: inner } = isJsonObject(given['invocation']) ? given['invocation'] : given;
    const isWrapped = typeof server === 'string' && typeof tool === 'string';
    const names = [...call.titles, call.name, ...(isWrapped ? [`${server} ${tool}`] : [])];
    const args = isWrapped && isJsonObject(inner) ? inner : given;
    const tools = readAsked(this.#stepDir).flatMap((asked) => ('listed' in asked ? asked.listed : []));
    // Qwen Code 0.15 asks under no name but that of its answers: `Always Allow in project: report_result`.
    const isNameless = call.name === call.kind && call.titles.every((title) => title === JSON.stringify(input));
    const found =
      tools.find(({ name }) => names.some((text) => hasWord(text, 'uwf') && hasWord(text, name))) ??
      (isNameless ? tools.find(({ name }) => options.some((text) => text.endsWith(`: ${name}`))) : undefined);
    if (found === undefined || (input !== undefined && !isJsonObject(input))) return undefined;
    const known = propertiesOf(found.inputSchema);
    return known === undefined || Object.keys(args).every((name) => known.has(name)) ? found.name : undefined;
  }

  #called(): string[] {
    const asked = this.#stepDir === undefined ? [] : readAsked(this.#stepDir);
    return asked.flatMap((entry) => ('called' in entry ? [entry.called] : []));
  }
}

/** `mcp__uwf__thread_list`, `uwf_thread_list` and `thread_list (uwf MCP Server)` have the words `uwf` and `thread_list`. */
function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?:^|[^a-z0-9])${word}(?:$|[^a-z0-9])`, 'iu').test(text);
}

/** The names of arguments; `report_result` takes its result with and without one around it. Undefined: any. */
function propertiesOf(schema: JsonObject): Set<string> | undefined {
  const { properties } = schema;
  if (!isJsonObject(properties)) return undefined;
  const { result } = properties;
  const inner = isJsonObject(result) ? propertiesOf(result) : new Set<string>();
  return inner && new Set([...Object.keys(properties), ...inner]);
}

/** The variables that tell `uwf mcp` whose turn it serves. */
const VARIABLES = ['UWF_THREAD', 'UWF_ROLE', 'UWF_STEP_DIR', 'UWF_REPOSITORY'];

/** uwf's own MCP server as an agent is told to start it: for this thread, this role and this step. */
export function uwfMcpServer(request: AgentRequest): McpServerStdio {
  const env = {
    ...request.env,
    UWF_THREAD: request.threadId,
    UWF_ROLE: request.role,
    UWF_STEP_DIR: request.stepDir,
  } as Readonly<Record<string, string>>; // a spread of an index signature loses the names it was given
  return {
    name: 'uwf',
    command: process.execPath,
    args: [join(packageRoot(), 'bin', 'uwf.js'), 'mcp', ...(request.withoutTools === true ? ['--result-only'] : [])],
    env: VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [{ name, value: env[name] }])),
  };
}

/** How long an agent has to start uwf's server, and from there until it has asked for the tools. */
const START_MS = 2_000;
const LIST_MS = 15_000;
const POLL_MS = 50;

/**
 * Waits for an agent to ask uwf's server for its tools: some have a session before they have the tools of its servers, and
 * a model that is asked then does not know them.
 * @param isRunning no longer true when there is no agent to wait for
 * @returns false where it does not ask; what an agent says of its servers does not count
 */
export async function untilToolsAreListed(stepDir: string, isRunning: () => boolean): Promise<boolean> {
  const beginMs = performance.now();
  const isLate = (): boolean =>
    performance.now() - beginMs > (readAsked(stepDir).length === 0 ? START_MS : LIST_MS) || !isRunning();
  while (!hasListedTools(stepDir)) {
    if (isLate()) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Tells whether the agent of a turn has asked uwf's server for its tools. */
export function hasListedTools(stepDir: string): boolean {
  return readAsked(stepDir).some((asked) => 'listed' in asked);
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /gemini/iu,
    "it starts no server in a folder that it does not trust: start 'gemini' there and trust the folder, or put GEMINI_CLI_TRUST_WORKSPACE: 'true' into the agent's env",
  ],
  [
    /copilot/iu,
    `it takes no server of this kind over ACP: add --additional-mcp-config '${COPILOT_SERVER}' to its command`,
  ],
];

/** What an agent lacks that took no server of uwf's, and what helps. */
export function toolsMissing(agent: string | undefined): AgentBroken {
  const remedy = remedies.find(([name]) => agent !== undefined && name.test(agent))?.[1];
  return new AgentBroken(
    `${agent ?? 'the agent'} has not taken uwf's MCP server: it cannot call report_result, thread_read, cas_get and the others`,
    { hint: `${remedy ?? 'see whether it lets its client name MCP servers'}; or say mcp: false in its config` },
  );
}
