import { isAbsolute, resolve } from 'node:path';
import { isWithin } from '../../git/system/files.ts';
import {
  integerSchema,
  listSchema,
  NOT_EMPTY,
  objectSchema,
  type SchemaOf,
  textSchema,
} from '../../schema/typed-schema.ts';
import type { AgentRequest } from '../contract.ts';
import { pidNamespace, type ProgramRun, runContained } from '../processes/run-program.ts';
import { HeadAndTail, looksSecret, scrubbedEnvironment } from '../processes/start-program.ts';
import type { WorkFolder } from './file-tools.ts';
import type { LlmConfig } from './llm-config.ts';
import { defineTool, type Tool, ToolFailure, ToolRefused } from './tool-box.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
/** A program that writes more is ended: it floods. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const GRACE_MS = 2000;

const command: SchemaOf<string | string[]> = {
  anyOf: [listSchema(textSchema(), undefined, { minItems: 1 }), textSchema(undefined, NOT_EMPTY)],
};

type CommandEvents = {
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
  return defineTool({
    name: 'run_command',
    description:
      'Runs a command in the working folder, without input, and gives its output and exit code. A list is a program and ' +
      'its arguments, a text is read by sh. What is left running is ended.',
    input: objectSchema({ command }, { timeoutMs: integerSchema(`how long it may take (${maxMs} at most)`, 1) }),
    async run({ command, timeoutMs = maxMs }, signal) {
      const argv = typeof command === 'string' ? [command] : command;
      await guardCommand(argv, folder, { allow: config.allow, env, passed });
      const limitMs = Math.min(timeoutMs, maxMs);
      const clock = AbortSignal.timeout(limitMs);
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
          signal: AbortSignal.any([signal, clock]),
          onStart: (pgid) => emit({ kind: 'process-group', pgid }),
          onOutput(text) {
            output.add(text);
            onOutput();
          },
          onAside: () => {},
        };
        const { exit, isCut } = await runContained(program, await pidNamespace());
        const how = typeof exit === 'number' ? `exit code ${exit}` : `ended by ${exit}`;
        const why = isCut ? `it wrote more than ${MAX_OUTPUT_BYTES} bytes and was ended` : how;
        return `${output.text()}\n[${why}]`;
      } catch (error) {
        if (signal.aborted || !clock.aborted) throw error;
        throw new ToolFailure(`${output.text()}\n[it took longer than ${limitMs} ms and was ended]`);
      }
    },
  });
}

/** Where programs and devices lie that any command may name. */
const SHARED = /^\/(?:bin|sbin|lib|lib64|usr|opt|nix|dev\/(?:null|zero|u?random|std(?:in|out|err)|fd))(?:\/|$)/u;

type CommandRules = {
  /** The beginnings that a command may have; absent: any. */
  allow: readonly string[] | undefined;
  /** The environment of uwf, and the part of it that the command sees. */
  env: Readonly<Record<string, string>>;
  passed: Readonly<Record<string, string>>;
};

/**
 * Refuses a command that plainly reaches out: one that names a path outside the working folder, or a variable that was
 * kept from it.
 *
 * A guard-rail and no sandbox: what a program does once it runs is not seen from here.
 */
async function guardCommand(argv: readonly string[], folder: WorkFolder, rules: CommandRules): Promise<void> {
  assertAllowed(argv, rules.allow);
  const words = argv.flatMap(wordsOf);
  const kept = Object.keys(rules.env).filter((name) => !Object.hasOwn(rules.passed, name) && looksSecret(name));
  for (const word of words) {
    const name = kept.find((candidate) => word === candidate || word === `$${candidate}`);
    if (name !== undefined) throw new ToolRefused(`the variable ${name} is kept from commands`);
    if (isOutwardPath(word)) await assertInside(word, folder);
  }
}

function assertAllowed(argv: readonly string[], allow: readonly string[] | undefined): void {
  if (allow === undefined) return;
  const isAllowed = allow.some((beginning) => beginning.split(/\s+/u).every((word, index) => argv[index] === word));
  if (!isAllowed) {
    throw new ToolRefused(
      `'${argv.join(' ')}' is not allowed; give program and arguments as a list, beginning with: ${allow.join(', ')}`,
    );
  }
}

/** What a shell, or a program, would take for a word of its own: `--out=/etc/x`, `>../x` and `"$HOME"` have one each. */
function wordsOf(text: string): string[] {
  return text.split(/[\s'"`;|&<>(){}=,:]+/u).filter((word) => word !== '');
}

function isOutwardPath(word: string): boolean {
  return isAbsolute(word) || /^(?:~|\$HOME\b|\$\{?OLDPWD)/u.test(word) || word.split('/').includes('..');
}

async function assertInside(word: string, folder: WorkFolder): Promise<void> {
  const refusal = new ToolRefused(`'${word}' lies outside the working folder`);
  if (/^[~$]/u.test(word)) throw refusal;
  if (isAbsolute(word) && SHARED.test(resolve(word))) return;
  // A pattern of the shell is looked at as far as its first wildcard.
  const plain = word.replace(/[*?[].*$/u, '');
  if (isWithin(resolve(folder.path, plain), folder.path)) return;
  // It may still lead inside, by another name of the folder.
  await folder.find(plain).catch(() => {
    throw refusal;
  });
}
