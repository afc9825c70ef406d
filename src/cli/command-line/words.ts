import type { OptionSpec } from './command.ts';

/**
 * The word by which the scripts (`fixtures/completion/`) ask for what fits. The words typed so far follow, the last one
 * possibly empty. A script prints lines of `word<tab>description`; without any the shell completes its own files.
 */
export const COMPLETE = '__complete';

/** The options that a command line may have, by their long names. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** An option as it was typed. */
export type GivenOption = {
  /** Its long name, also where its letter was typed. */
  name: string;
  spec: OptionSpec;
  /** `undefined` where none was given. */
  value: string | undefined;
  /** True where the value stood in the same word: `--name=value`, `-nvalue`. */
  isInline: boolean;
};

/** The words of a command line, taken apart and not yet checked; or the first option that the command does not have. */
export type Words = { options: readonly GivenOption[]; positionals: readonly string[] } | { unknown: string };

/**
 * Takes the words of a command line apart, by the options that the command has.
 *
 * There are two readers, one for the commands that have to start at once and one for all others. A property test holds
 * both to the same answers.
 */
export type ReadWords = (specs: OptionSpecs, argv: readonly string[]) => Words;

/** Whether the next word is an option's value. A value that can be left out never is. */
export function takesWord({ value, isValueOptional }: OptionSpec): boolean {
  return value !== undefined && !isValueOptional;
}

/** The option of a long name. One of a single letter has no long form. */
export function longOption(specs: OptionSpecs, name: string): OptionSpec | undefined {
  return name.length > 1 && Object.hasOwn(specs, name) ? specs[name] : undefined;
}

/** The length of the name of a long option, with its dashes: up to the equals sign. A name has a character at least. */
export function lengthOfName(word: string): number {
  const end = word.indexOf('=', 3);
  return end === -1 ? word.length : end;
}
