import type { JsonValue } from '../../json.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import { type ExitCode, UsageError } from '../errors/exit-code.ts';
import type { Output } from '../output/output.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** What completion offers for a value. */
export type Candidates =
  | 'thread'
  | 'step'
  | 'workflow'
  | 'shipped-workflow'
  | 'agent'
  | 'remote'
  | 'file'
  | 'folder'
  | readonly string[];

/** One option of a command. Its long name is its key. */
export type OptionSpec = {
  /** What it does, without a full stop. */
  summary: string;
  short?: string;
  /** What stands for its value in the help: `<text>`. Absent for a switch. */
  value?: string;
  /** Reads the value; throws a `UsageError` whose message goes on after `--name`. Default: the text itself. */
  parse?: (text: string) => unknown;
  /** May be given several times, or with commas. */
  isRepeatable?: true;
  /** Its value follows an equals sign or is left out (`--json=a,b`), so that it never swallows an argument. */
  isValueOptional?: true;
  candidates?: Candidates;
  conflicts?: readonly string[];
};

/** An option whose value is a text; for declarations that several commands share. */
export type TextOption = OptionSpec & { value: string };

export type ParsedOption<T> = TextOption & { parse: (text: string) => T };

export type ArgumentSpec = {
  name: string;
  summary: string;
  isOptional?: true;
  /** Takes all words that are left; only the last argument can. */
  isRepeatable?: true;
  candidates?: Candidates;
};

type Parsed<O> = O extends { parse: (text: string) => infer T } ? T : string;

type OptionValue<O> = O extends { value: string }
  ? O extends { isRepeatable: true }
    ? Parsed<O>[]
    : Parsed<O> | (O extends { isValueOptional: true } ? true : never) | undefined
  : boolean;

type ArgumentValue<S> = S extends { isRepeatable: true }
  ? readonly string[]
  : S extends { isOptional: true }
    ? string | undefined
    : string;

/**
 * The values of options, by their names: switches are always there, values where they were given; `true` stands for an
 * optional value that was left out.
 */
type OptionValues<O> = { readonly [K in keyof O]: OptionValue<O[K]> };

type ArgumentValues<A extends readonly ArgumentSpec[]> = {
  readonly [S in A[number] as S['name']]: ArgumentValue<S>;
};

type Invocation<A extends readonly ArgumentSpec[], O> = {
  args: ArgumentValues<A>;
  options: OptionValues<O>;
  cli: CliEnvironment;
  out: Output;
};

/** What the help says of a command, beside its arguments and options. */
type CommandTexts = {
  /** What it does, beyond the summary in the table; paragraphs of plain text. */
  description?: string;
  /** The fields of its JSON, which `--json=` may choose from, and what each says. Absent for a command that prints no data. */
  json?: Readonly<Record<string, string>>;
  examples: readonly { command: string; comment: string }[];
  /** What its exit codes mean beyond the usual. */
  exitCodes?: Readonly<Record<number, string>>;
};

/** A command, as the command line, the help and completion know it. */
export type Command = CommandTexts & {
  arguments: readonly ArgumentSpec[];
  options: Readonly<Record<string, OptionSpec>>;
  /** Is given what was read by this declaration, and nothing else. No exit code means done. */
  run(invocation: {
    args: Readonly<Record<string, string | readonly string[] | undefined>>;
    options: Readonly<Record<string, unknown>>;
    cli: CliEnvironment;
    out: Output;
  }): Promise<ExitCode | void>;
};

/**
 * Declares a command; `run` sees the values of the arguments and options that are declared, with their types. A command
 * without arguments, or without options of its own, declares none.
 *
 * The one place where types are believed: values are read by the declaration that they are typed by.
 */
export function defineCommand<
  const A extends readonly ArgumentSpec[] = readonly [],
  const O extends Readonly<Record<string, OptionSpec>> = Readonly<Record<string, never>>,
>(
  command: CommandTexts & { arguments?: A; options?: O; run(invocation: Invocation<A, O>): Promise<ExitCode | void> },
): Command {
  return { arguments: [], options: {}, ...command };
}

export const threadArgument: ArgumentSpec & { name: 'thread'; isOptional?: never; isRepeatable?: never } = {
  name: 'thread',
  summary: "the thread's id, or its first characters",
  candidates: 'thread',
};

export const optionalThreadArgument: ArgumentSpec & { name: 'thread'; isOptional: true; isRepeatable?: never } = {
  ...threadArgument,
  isOptional: true,
};

/** The thread that a command is about; under an agent the one that it works in. */
export const defaultThreadArgument: typeof optionalThreadArgument = {
  ...optionalThreadArgument,
  summary: "the thread's id, or its first characters; by default $UWF_THREAD",
};

export const hashArgument: ArgumentSpec & { name: 'hash'; isOptional?: never; isRepeatable?: never } = {
  name: 'hash',
  summary: "the node's hash, or its first characters",
};

export const agentOption: TextOption = {
  value: '<agent>',
  summary: 'let this agent of the configuration take the next turn',
  candidates: 'agent',
};

export const worktreeOption: TextOption = {
  short: 'w',
  value: '<folder>',
  summary: 'make a linked work tree there with the files that the step left',
  candidates: 'folder',
};

export const threadFields: Readonly<Record<string, string>> = {
  thread: 'its id',
  status: `one of ${threadStatuses.join(', ')}`,
  workflow: "its workflow's name",
  head: 'the commit that it is at',
  steps: 'how many steps it has',
  nextRole: 'who is next, or who waits; null when it is over',
  startedAt: 'when it started',
  endedAt: 'when it ended, or null',
  prompt: 'the first line of its prompt',
  reason: 'why it is suspended, or how it ended; else null',
  summary: 'where the reason is the output of a program, its last line that says something; else null',
  interruption:
    'of an interrupted one: pid, host and since of its last process, and processes that still work; else null',
};

export const publishOptions: Record<'with-commits' | 'allow-secrets', { summary: string }> = {
  'with-commits': { summary: 'send the commits of your code along that threads follow and the remote does not have' },
  'allow-secrets': { summary: 'send threads although they have what looks like a secret' },
} satisfies Record<string, OptionSpec>;

export const pushOptions: typeof publishOptions & { all: { summary: string } } = {
  all: { summary: 'send the threads that are new there, too, and do not ask' },
  ...publishOptions,
};

export const onOption: TextOption & { candidates: 'remote' } = {
  value: '<remote>',
  summary: 'let workers of this remote do it (uwf worker) with their own agents, and follow what comes back',
  candidates: 'remote',
  conflicts: ['agent'],
};

export const sendOptions: { on: typeof onOption; 'with-commits': { summary: string } } = {
  on: onOption,
  'with-commits': { summary: `with --on: ${publishOptions['with-commits'].summary}` },
};

/** Reads a whole number from 1. */
export function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) === 0) {
    throw new UsageError(`needs a whole number from 1 on, not '${text}'`);
  }
  return Number(text);
}

/** Reads the number of a port; 0 is any that is free. */
export function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new UsageError(`needs a port from 0 to 65535, not '${text}'`);
  }
  return Number(text);
}

/** Reads an amount of US dollars above 0: `5`, `0.25`. */
export function parseDollars(text: string): number {
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(text) || Number(text) === 0) {
    throw new UsageError(`needs an amount of US dollars, not '${text}'`, 'write 5 or 0.25');
  }
  return Number(text);
}

const units: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['min', 60_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
]);

/** Reads a span of time such as `90s`, `2h`, `1.5d`; a bare number is seconds. @returns ms */
export function parseDuration(text: string): number {
  const match = /^(?<number>\d+(?:\.\d+)?)\s*(?<unit>[a-z]*)$/.exec(text.trim().toLowerCase());
  const factor = units.get(match?.groups?.['unit'] || 's');
  if (!match || factor === undefined) {
    throw new UsageError(`needs a span of time, not '${text}'`, 'write 30s, 5min, 2h or 3d');
  }
  return Math.round(Number(match.groups?.['number']) * factor);
}

/** Reads a span of time that limits something: at least a millisecond. @returns ms */
export function parseTimeLimit(text: string): number {
  const ms = parseDuration(text);
  if (ms >= 1 && Number.isSafeInteger(ms)) return ms;
  throw new UsageError(
    `needs a span of time from 1ms on, not '${text}'`,
    'leave the option out where it is not to limit',
  );
}

/** No date is further from 1970, in either direction. Source: ECMA-262, 21.4.1.1. */
const MAX_DATE_MS = 8.64e15;

/** A moment as a command line names it: a date, or how long ago. */
type Moment = (nowMs: number) => number;

/** Reads a moment: `2d` (that long ago), `2026-11-21`, `2026-11-21T12:00Z`. A date without a zone is UTC. */
export function parseMoment(text: string): Moment {
  if (/^\d+(?:\.\d+)?\s*[a-z]+$/i.test(text.trim())) {
    const agoMs = parseDuration(text);
    if (agoMs > MAX_DATE_MS)
      throw new UsageError(`needs a date that there is, not '${text}'`, 'write 2026-11-21, or 2d');
    return (nowMs) => nowMs - agoMs;
  }
  const hasTime = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text);
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text);
  const timeMs = Date.parse(hasTime && !hasZone ? `${text.replace(' ', 'T')}Z` : text);
  if (Number.isNaN(timeMs) || !/^\d{4}-\d{2}/.test(text)) {
    throw new UsageError(`needs a date or a span of time, not '${text}'`, 'write 2026-11-21, 2026-11-21T12:00Z, or 2d');
  }
  return () => timeMs;
}

export function momentOption(summary: string): ParsedOption<Moment> {
  return { value: '<when>', summary, parse: parseMoment };
}

/** Reads JSON. @param mistake what is said, with the reason, of a text that is none */
export function readJson(text: string, mistake: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch (error) {
    throw new UsageError(`${mistake}: ${String(error)}`);
  }
}
