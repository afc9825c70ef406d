import type { ProgramExit, ProgramRun } from '../../command/run-program.ts';
import type { AgentRequest } from '../../contract.ts';
import { pidNamespace, runContained } from '../../run-contained.ts';
import { scrubbedEnvironment } from '../../scrubbed-environment.ts';
import type { LlmConfig } from '../llm-config.ts';
import { guardCommand } from './command-guard.ts';
import { HeadAndTail } from '../../head-and-tail.ts';
import { ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';
import type { WorkFolder } from './work-folder.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
/** A program that writes more is ended: it floods. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const GRACE_MS = 2000;

/** What a command's run is told about, beside its result. */
export type CommandEvents = {
  /** The command said something: it lives. */
  onOutput: () => void;
  /** What is told of its output, in characters. */
  maxCharacters: number;
};

/**
 * The tool that runs commands in the working folder. What one has started is gone when it is over; see `runContained`.
 *
 * They see the part of the environment that holds no secret, and no other processes where that can be had; see
 * `guardCommand` for what is refused.
 */
export function commandTool(
  folder: WorkFolder,
  { env, emit }: Pick<AgentRequest, 'env' | 'emit'>,
  { runCommand: config = {}, apiKeyEnv }: Pick<LlmConfig, 'runCommand' | 'apiKeyEnv'>,
  { onOutput, maxCharacters }: CommandEvents,
): Tool {
  const passed = scrubbedEnvironment(env, config.passEnv, apiKeyEnv);
  const maxMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  return {
    name: 'run_command',
    description:
      'Runs a command in the working folder, without input, and gives its output and exit code. A list is a program and ' +
      'its arguments, a text is read by sh. What is left running is ended.',
    inputSchema: {
      type: 'object',
      properties: {
        command: {
          anyOf: [
            { type: 'array', minItems: 1, items: { type: 'string' } },
            { type: 'string', minLength: 1 },
          ],
        },
        timeoutMs: { type: 'integer', minimum: 1, description: `how long it may take (${maxMs} at most)` },
      },
      required: ['command'],
      additionalProperties: false,
    },
    async run(input, signal) {
      const { command, timeoutMs = maxMs } = input as { command: string | string[]; timeoutMs?: number };
      const argv = typeof command === 'string' ? [command] : command;
      await guardCommand(argv, folder, { allow: config.allow, env, passed });
      const limitMs = Math.min(timeoutMs, maxMs);
      const clock = new AbortController();
      const timer = setTimeout(() => clock.abort(new Error('too slow')), limitMs);
      const output = new HeadAndTail(maxCharacters);
      try {
        const program: ProgramRun = {
          // One stream for both outputs keeps what a program says in its order.
          argv:
            typeof command === 'string'
              ? ['/bin/sh', '-c', `exec 2>&1\n${command}`]
              : ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...argv],
          cwd: folder.path,
          env: passed,
          input: '',
          maxOutputBytes: MAX_OUTPUT_BYTES,
          graceMs: GRACE_MS,
          signal: AbortSignal.any([signal, clock.signal]),
          onStart: (pgid) => emit({ kind: 'process-group', pgid }),
          onOutput(text) {
            output.add(text);
            onOutput();
          },
          onAside: () => {},
        };
        const { exit, isCut } = await runContained(program, await pidNamespace());
        const why = isCut ? `it wrote more than ${MAX_OUTPUT_BYTES} bytes and was ended` : describeExit(exit);
        return `${output.text()}\n[${why}]`;
      } catch (error) {
        if (signal.aborted || !clock.signal.aborted) throw error;
        throw new ToolFailure(`${output.text()}\n[it took longer than ${limitMs} ms and was ended]`);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function describeExit(exit: ProgramExit): string {
  return exit.kind === 'code' ? `exit code ${exit.code}` : `ended by ${exit.signal}`;
}
