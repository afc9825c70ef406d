import type { CliContext } from './context.ts';
import type { ExitCode } from './exit-code.ts';
import type { Output } from './output/output.ts';

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
export type OptionValues<O> = { readonly [K in keyof O]: OptionValue<O[K]> };

/** The values of arguments, by their names. */
export type ArgumentValues<A extends readonly ArgumentSpec[]> = {
  readonly [S in A[number] as S['name']]: ArgumentValue<S>;
};

/** What a command gets to work with. */
export type Invocation<A extends readonly ArgumentSpec[], O> = {
  args: ArgumentValues<A>;
  options: OptionValues<O>;
  cli: CliContext;
  out: Output;
};

/** How a command's result looks under `--json`. */
export type JsonShape = {
  /** `lines`: one object per line, as things happen. */
  shape: 'object' | 'list' | 'lines';
  /** Field -> what it says. These are what `--json=` may choose from. */
  fields: Readonly<Record<string, string>>;
};

type CommandSpec<A extends readonly ArgumentSpec[], O> = {
  /** What it does, in a few words, as an imperative without a full stop. */
  summary: string;
  /** More about it; paragraphs of plain text. */
  description?: string;
  arguments: A;
  options: O;
  /** Absent for a command that prints no data. */
  json?: JsonShape;
  examples: readonly { command: string; comment: string }[];
  /** What its exit codes mean beyond the usual. */
  exitCodes?: Readonly<Record<number, string>>;
};

/** A command, as the command line, the help and completion know it. */
export type Command = CommandSpec<readonly ArgumentSpec[], Readonly<Record<string, OptionSpec>>> & {
  /** @returns the exit code; nothing means done */
  run(invocation: Invocation<readonly ArgumentSpec[], Record<string, OptionSpec>>): Promise<ExitCode | void>;
};

/** Declares a command; `run` sees the values of the arguments and options that are declared, with their types. */
export function defineCommand<
  const A extends readonly ArgumentSpec[],
  const O extends Readonly<Record<string, OptionSpec>>,
>(command: CommandSpec<A, O> & { run(invocation: Invocation<A, O>): Promise<ExitCode | void> }): Command {
  return command;
}
