import type { OptionSpec } from '../command.ts';

/** An option as it was typed. */
export type GivenOption = {
  /** Its long name, whatever was typed. */
  name: string;
  /** `undefined` where none was given. */
  value: string | undefined;
  /** True where the value stood in the same word: `--name=value`, `-nvalue`. */
  isInline: boolean;
};

/** The words of a command line, taken apart and not yet judged. */
export type Words = { options: readonly GivenOption[]; positionals: readonly string[] };

/** An option that the command does not have, as it was typed: `--foo`. */
export type UnknownOption = { unknown: string };

/**
 * Takes the words of a command line apart, by the options that the command has.
 *
 * There are two, one for the commands that have to start at once and one for all others; a test holds them to the same.
 */
export type ReadWords = (specs: Readonly<Record<string, OptionSpec>>, argv: readonly string[]) => Words | UnknownOption;
