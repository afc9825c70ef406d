import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { commandConfigSchema } from './command-config.ts';
import type { CommandConfig } from './command-config.ts';
import { replyOfProgram } from './reply-of-program.ts';
import { runProgram } from './run-program.ts';

const DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const DEFAULT_GRACE_MS = 5_000;

/** `builtin:command`: any program that reads a prompt on standard input and writes its reply to standard output. */
export const packageDescriptor: PackageDescriptor = {
  name: 'builtin:command',
  version: '1.0.0',
  capabilities: ['streaming'],
  configSchema: commandConfigSchema,
};

/**
 * Makes an agent that runs a program for each turn.
 *
 * Its standard output is told as `text` events, its standard error as `thought` events.
 * @param config has been checked against `packageDescriptor.configSchema`
 */
export function createAgent(config: JsonObject): Agent {
  // The schema that config was checked against describes this very type.
  const checked = config as CommandConfig;
  return { run: (request) => runCommand(checked, request) };
}

async function runCommand(config: CommandConfig, request: AgentRequest): Promise<AgentReply> {
  const result = await runProgram({
    argv: config.argv,
    cwd: request.cwd,
    env: { ...request.env, ...config.env },
    input: request.prompt,
    maxOutputBytes: config.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
    graceMs: config.graceMs ?? DEFAULT_GRACE_MS,
    signal: request.signal,
    onStart: (pgid) => request.emit({ kind: 'process-group', pgid }),
    onOutput: (text) => request.emit({ kind: 'text', text }),
    onErrorOutput: (text) => request.emit({ kind: 'thought', text }),
  });
  return replyOfProgram(result, config);
}
