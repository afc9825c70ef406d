import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { commandConfigSchema } from './command-config.ts';
import type { CommandConfig } from './command-config.ts';
import { findProgram } from '../find-program.ts';
import { replyOfProgram } from './reply-of-program.ts';
import { runProgram } from './run-program.ts';

const DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const DEFAULT_GRACE_MS = 5_000;

/** `builtin:command`: any program that reads a prompt on standard input and writes its reply, or ends with an exit code. */
export const packageDescriptor: PackageDescriptor = {
  name: 'builtin:command',
  version: '1.0.0',
  capabilities: ['streaming'],
  configSchema: commandConfigSchema,
};

/**
 * Makes an agent that runs a program for each turn.
 *
 * What counts as its output is told as `text` events, the other stream as `thought` events.
 * @param config has been checked against `packageDescriptor.configSchema`
 */
export function createAgent(config: JsonObject): Agent {
  // The schema that config was checked against describes this very type.
  const checked = config as CommandConfig;
  return { run: (request) => runCommand(checked, request), answers: checked.answers === true };
}

async function runCommand(config: CommandConfig, request: AgentRequest): Promise<AgentReply> {
  const env = { ...request.env, ...config.env };
  const result = await runProgram({
    argv: config.output === 'both' ? withOneStream(config.argv, request.cwd, env) : config.argv,
    output: config.output === 'stderr' ? 'stderr' : 'stdout',
    cwd: request.cwd,
    env,
    input: request.prompt,
    maxOutputBytes: config.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
    graceMs: config.graceMs ?? DEFAULT_GRACE_MS,
    signal: request.signal,
    onStart: (pgid) => request.emit({ kind: 'process-group', pgid }),
    onOutput: (text) => request.emit({ kind: 'text', text }),
    onAside: (text) => request.emit({ kind: 'thought', text }),
  });
  return replyOfProgram(result, config);
}

/** One stream for both outputs keeps what a program says in its order. */
function withOneStream(argv: CommandConfig['argv'], cwd: string, env: Readonly<Record<string, string>>): typeof argv {
  // What cannot be started is told by the system, not by the shell's exit code.
  if (findProgram(argv[0], cwd, env['PATH'] ?? '') === undefined) return argv;
  return ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...argv];
}
