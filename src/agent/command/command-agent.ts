import { describeBuiltIn } from '../describe-built-in.ts';
import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import {
  asValidated,
  commandLineSchema,
  enumSchema,
  flagSchema,
  integerSchema,
  listSchema,
  NOT_EMPTY,
  objectSchema,
  recorded,
  recordSchema,
  textSchema,
  type ValueOf,
} from '../../schema/typed-schema.ts';
import { findProgram } from '../processes/start-program.ts';
import { describeEnd, type ProgramResult, runProgram } from '../processes/run-program.ts';

const DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const DEFAULT_GRACE_MS = 5_000;

/**
 * JSON Schema of the configuration.
 *
 * `argv` and `env` are not recorded with the thread: they may hold paths of this machine, and what should be secret.
 */
const configSchema = objectSchema(
  { argv: commandLineSchema('program and arguments; no shell reads them') },
  {
    env: recordSchema(textSchema(), 'added to the environment'),
    statuses: recorded(
      recordSchema(textSchema(undefined, NOT_EMPTY), "the $status to report, by exit code, signal name or 'default'", {
        minProperties: 1,
        propertyNames: { pattern: '^(default|0|[1-9][0-9]{0,2}|SIG[A-Z0-9]+)$' },
      }),
    ),
    output: recorded(
      enumSchema(['stdout', 'stderr', 'both'], 'what the text is (stdout, or stderr where that is empty)'),
    ),
    retryOnExit: recorded(
      listSchema<number | string>(
        {
          anyOf: [
            { type: 'integer', minimum: 1, maximum: 255 },
            { type: 'string', pattern: '^SIG[A-Z0-9]+$' },
          ],
        },
        'exit codes, and names of signals, after which it is run again (none)',
      ),
    ),
    answers: recorded(
      flagSchema(
        'it may be run for what it is asked beside its turns, and again for a status that is not accepted (false)',
      ),
    ),
    maxOutputBytes: integerSchema('bytes of output that a turn may write (8388608)', 1, { maximum: 268_435_456 }),
    graceMs: integerSchema('from SIGTERM to SIGKILL, in ms (5000)', 0, { maximum: 600_000 }),
  },
);

type CommandConfig = ValueOf<typeof configSchema>;

/** `builtin:command`: any program that reads a prompt on standard input and writes its reply, or ends with an exit code. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn('command', ['streaming'], configSchema);

/**
 * Makes an agent that runs a program for each turn.
 *
 * What counts as its output is told as `text` events, the other stream as `thought` events.
 */
export function createAgent(config: JsonObject): Agent {
  const checked = asValidated(config, configSchema);
  return { run: (request) => runCommand(checked, request), answers: checked.answers === true };
}

/** The program that a configuration starts, and the PATH that it sets, if any. */
export function programOfCommand(config: JsonObject): { program: string; path: string | undefined } {
  const { argv, env } = asValidated(config, configSchema);
  return { program: argv[0], path: env?.['PATH'] };
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
  if (!result.isUtf8) request.emit({ kind: 'thought', text: `uwf: ${NOT_UTF8}; what is not is replaced by U+FFFD` });
  return replyOfProgram(result, config);
}

/** One stream for both outputs keeps what a program says in its order. */
function withOneStream(argv: CommandConfig['argv'], cwd: string, env: Readonly<Record<string, string>>): typeof argv {
  // Without the shell, the system reports a program that cannot be started.
  if (findProgram(argv[0], cwd, env['PATH'] ?? '') === undefined) return argv;
  return ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...argv];
}

const NOT_UTF8 = 'its output is not text in UTF-8';

/** How much of a reply that was too long is kept with the failed attempt, in characters. */
const MAX_KEPT_CHARACTERS = 65_536;
/** How much of its output is quoted where standard error is empty. */
const MAX_QUOTED_CHARACTERS = 4096;
/** More of a word is no secret. */
const MAX_WORD = 1024;

/**
 * Makes a reply of what a program did.
 *
 * - an exit that `retryOnExit` names: a failed attempt, after which it is run again
 * - an exit that `statuses` names: its `$status`, the output as the text
 * - exit code 0 otherwise: the output is the reply, front matter and all
 * - anything else, and an output that was too long: a failed attempt, with the end of what it said
 *
 * Results are final, because a second run of a program would repeat its effects. Two are not: a reply that the program
 * writes itself, whose mistakes it gets, and results of a program that the configuration declares to answer.
 */
function replyOfProgram(result: ProgramResult, config: CommandConfig): AgentReply {
  const [program] = config.argv;
  if (result.isCut) {
    return {
      kind: 'failed-attempt',
      reason: `'${program}' wrote more than 'maxOutputBytes' allows and was ended`,
      text: beginningOf(result.output),
      isFinal: true,
    };
  }
  const { exit, output, aside } = result;
  const isSaidAside = config.output === undefined && output.trim() === '' && aside.trim() !== '';
  const text = isSaidAside ? aside : output;
  if (config.retryOnExit?.includes(exit) === true) {
    return { kind: 'failed-attempt', reason: reasonOf(program, result), text };
  }
  const statuses = new Map(Object.entries(config.statuses ?? {}));
  const status = statuses.get(String(exit)) ?? statuses.get('default');
  if (status !== undefined) {
    return { kind: 'reply', text, meta: { $status: status }, isFinal: config.answers !== true };
  }
  // Of a text that the program chose, nothing is to be guessed. An output that only goes with a status is for people.
  if (exit === 0 && !result.isUtf8) return { kind: 'failed-attempt', reason: `'${program}': ${NOT_UTF8}`, text };
  if (exit === 0) return { kind: 'reply', text };
  return { kind: 'failed-attempt', reason: reasonOf(program, result), text, isFinal: true };
}

function reasonOf(program: string, { exit, errorTail, output }: ProgramResult): string {
  const how = describeEnd(exit);
  const said = errorTail === '' ? endOf(output) : errorTail;
  return said === '' ? `'${program}' ${how}` : `'${program}' ${how}: ${said}`;
}

/** The beginning of a text. A word torn by the bound is left out: of a secret the rest is none that can be known. */
function beginningOf(text: string): string {
  const end = MAX_KEPT_CHARACTERS - MAX_WORD;
  return text.slice(0, end) + text.slice(end, MAX_KEPT_CHARACTERS).replace(/\S+$/u, '');
}

/** The end of a text, in the same way. */
function endOf(text: string): string {
  const end = text.slice(-MAX_QUOTED_CHARACTERS);
  return (end === text ? end : end.replace(/^\S{1,1024}/u, '')).trim();
}
