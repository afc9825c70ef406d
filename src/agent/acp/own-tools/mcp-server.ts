import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { McpServerStdio } from '@agentclientprotocol/sdk/unstable';

import { packageRoot } from '../../../package-root.ts';
import { AgentBroken } from '../../agent-errors.ts';
import type { AgentRequest } from '../../contract.ts';
import { readAsked } from '../../mcp/mcp-record.ts';
import { COPILOT_SERVER } from '../known/known-agents.ts';

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
