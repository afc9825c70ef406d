import { join } from 'node:path';
import type { McpServerStdio } from '@agentclientprotocol/sdk/unstable';

import { packageRoot } from '../../package-root.ts';
import type { AgentRequest } from '../contract.ts';

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
    args: [join(packageRoot(), 'bin', 'uwf.js'), 'mcp'],
    env: VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [{ name, value: env[name] }])),
  };
}
