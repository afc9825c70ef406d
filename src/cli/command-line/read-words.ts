import { CommanderError, type Command as Commander } from 'commander';
import { withArticle } from '../../text/wording.ts';
import { UsageError } from '../errors/usage-error.ts';
import type { CommonValues } from './commander.ts';

/** The words of one command, read by its declaration. */
type ReadWords = {
  args: Record<string, string | readonly string[] | undefined>;
  options: Record<string, unknown>;
  /** `--json`: every field, or those that are named; `undefined` where no JSON is asked for. */
  json: true | readonly string[] | undefined;
  /** `--query`, which asks for JSON too. */
  query: string | undefined;
} & CommonValues;

/**
 * Reads the words of a command.
 *
 * @param name what the person typed to name the command, for messages
 * @returns `undefined` where they asked for the help, which is written then
 * @throws {UsageError} for anything that is not declared, said with the nearest name that is
 */
export function readWords(name: string, commander: Commander, argv: readonly string[]): ReadWords | undefined {
  try {
    commander.parse(withOptionalValues(commander, argv), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed') return undefined;
    throw asUsageError(name, commander, error);
  }
  const { C, pager, json, query, ...options } = commander.opts<
    { json?: readonly string[]; query?: string } & CommonValues
  >();
  // Commander takes `-5` for a number. Somebody who types it means `-n 5`.
  const number = commander.args.find((word) => /^-\d/.test(word) && upToEnd(argv).includes(word));
  if (number !== undefined) throw unknownOption(name, number);
  const values: readonly (string | readonly string[] | undefined)[] = commander.processedArgs;
  return {
    args: Object.fromEntries(commander.registeredArguments.map((argument, place) => [argument.name(), values[place]])),
    options,
    json: json?.length === 0 || (json === undefined && query !== undefined) ? true : json,
    query,
    pager,
    ...(C !== undefined && { C }),
  };
}

/** The words before `--`, among which options may stand. */
function upToEnd(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end === -1 ? argv : argv.slice(0, end);
}

/**
 * Writes `--json` as `--json=`. To Commander the word behind an option whose value can be left out is its value; here a value
 * follows an equals sign only, so that `--json` never swallows an argument.
 */
export function withOptionalValues({ options }: Commander, argv: readonly string[]): string[] {
  const bare = new Set(options.flatMap(({ optional, long }) => (optional && long !== undefined ? [long] : [])));
  const before = upToEnd(argv);
  return [...before.map((word) => (bare.has(word) ? `${word}=` : word)), ...argv.slice(before.length)];
}

/** Says what is wrong as uwf says it. */
function asUsageError(name: string, commander: Commander, { code, message }: CommanderError): UsageError {
  const [, quoted = ''] = /'(.*)'/s.exec(message) ?? [];
  const help = `run 'uwf ${name} --help' to see how it is used`;
  switch (code) {
    case 'commander.unknownOption': {
      const [flag = quoted] = /^(?:--.[^=]*|-.)/s.exec(quoted) ?? [];
      const options = commander.createHelp().visibleOptions(commander);
      if (options.some(({ long }) => long === flag)) return new UsageError(`${flag} takes no value`);
      return unknownOption(name, flag, /\((Did you mean .*)\)/.exec(message)?.[1]?.replace('D', 'd'));
    }
    case 'commander.optionMissingArgument': {
      const [typed = '', value = ''] = quoted.split(' ').slice(-2);
      return new UsageError(`${typed} needs a value: ${value}`);
    }
    case 'commander.missingArgument': {
      const missing = commander.registeredArguments[commander.args.length];
      const what = missing && `${withArticle(missing.name())}: ${missing.description}`;
      return new UsageError(`'uwf ${name}' needs ${what}`, help);
    }
    case 'commander.excessArguments': {
      const hint = /\s/.test(commander.args.join('')) ? help : `${help}; a text of several words needs quotes`;
      // A word may be one too many because it was meant as the value of an option whose value can be left out.
      const bare = commander.options.findLast((option) => {
        const value: unknown = option.optional ? commander.getOptionValue(option.attributeName()) : undefined;
        return value === true || (Array.isArray(value) && value.length === 0);
      });
      const extra = commander.args[commander.registeredArguments.length] ?? '';
      return new UsageError(
        `'uwf ${name}' does not know what to do with '${extra}'`,
        bare === undefined ? hint : `did you mean ${bare.long}=${commander.args.at(-1)}?`,
      );
    }
    default:
      return new UsageError(message.replace(/^error: /, ''), help);
  }
}

function unknownOption(name: string, flag: string, suggestion?: string): UsageError {
  const hint = suggestion ?? `run 'uwf ${name} --help' to see its options`;
  return new UsageError(`'uwf ${name}' has no option ${flag}`, hint);
}
