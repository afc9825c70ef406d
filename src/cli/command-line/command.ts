import type { CliEnvironment } from '../process/cli-environment.ts';
import type { ExitCode } from '../errors/exit-code.ts';
import type { Output } from '../output/output.ts';

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
  /** The letter after a single dash. */
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
  /** The names of options that cannot be given together with this one. */
  conflicts?: readonly string[];
};

/** An option whose value is a text; for declarations that several commands share. */
export type TextOption = OptionSpec & { value: string };

/** An option whose value is read as something else. */
export type ParsedOption<T> = TextOption & { parse: (text: string) => T };

/** One argument of a command, by its place. */
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

/** The values of arguments, by their names. */
type ArgumentValues<A extends readonly ArgumentSpec[]> = {
  readonly [S in A[number] as S['name']]: ArgumentValue<S>;
};

/** What a command gets to work with. */
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
  /**
   * @param invocation has what `parseArguments` read by this declaration, and nothing else
   * @returns the exit code; nothing means done
   */
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
