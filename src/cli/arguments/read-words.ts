import { Command, CommanderError, Option } from 'commander';
import type { OptionSpec } from '../command.ts';
import type { GivenOption, ReadWords } from './words.ts';

/**
 * Ends the name that stands for `--json=<fields>` while commander reads: to commander an option that may have a value may
 * also take the next word for it, and one whose value is optional never does.
 */
const WITH_VALUE = '-with-value';

/** Reads words with commander. */
export const readWords: ReadWords = (specs, argv) => {
  const command = new Command()
    .exitOverride()
    .helpOption(false)
    .argument('[words...]')
    .configureOutput({ writeErr: () => {} })
    .showSuggestionAfterError(false);
  const options: GivenOption[] = [];
  const optional = Object.keys(specs).filter((name) => specs[name]?.isValueOptional);
  const rename = (word: string, from: string, to: string): string => {
    const name = optional.find((candidate) => word.startsWith(`--${candidate}${from}=`));
    return name === undefined ? word : `--${name}${to}${word.slice(`--${name}${from}`.length)}`;
  };
  const hide = (word: string): string => rename(word, '', WITH_VALUE);
  const restore = (word: string): string => rename(word, WITH_VALUE, '');
  const add = (name: string, flags: string): void => {
    const option = new Option(flags);
    command.addOption(option);
    command.on(`option:${option.name()}`, (value?: string | null) => {
      // Whether it was inline commander does not tell; only '--name=value' itself can be the word that said so.
      const text = value == null ? undefined : restore(value);
      options.push({ name, value: text, isInline: argv.includes(`--${name}=${text}`) });
    });
  };
  for (const [name, spec] of Object.entries(specs)) add(name, flagsOf(name, spec));
  for (const name of optional) add(name, `--${name}${WITH_VALUE} <value>`);
  try {
    command.parse(argv.map(hide), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return judge(error, specs, options);
  }
  return { options, positionals: command.args.map(restore) };
};

function flagsOf(name: string, { short, value, isValueOptional }: OptionSpec): string {
  // An option of one letter has no long form.
  const flags = name.length === 1 ? `-${name}` : `${short === undefined ? '' : `-${short}, `}--${name}`;
  return value === undefined || isValueOptional ? flags : `${flags} <value>`;
}

/** What commander refuses is said in uwf's own words, by whoever judges the values. */
function judge(
  error: CommanderError,
  specs: Readonly<Record<string, OptionSpec>>,
  before: readonly GivenOption[],
): ReturnType<ReadWords> {
  const [, quoted = ''] = /'(.*)'/s.exec(error.message) ?? [];
  if (error.code === 'commander.optionMissingArgument') {
    const found = Object.entries(specs).find(([name, spec]) => flagsOf(name, spec) === quoted);
    if (found) return { options: [...before, { name: found[0], value: undefined, isInline: false }], positionals: [] };
  }
  if (error.code !== 'commander.unknownOption') throw error;
  const [word = '', ...rest] = quoted.split('=');
  const name = word.replace(/^--/, '');
  if (rest.length === 0 || !Object.hasOwn(specs, name)) return { unknown: word };
  return { options: [...before, { name, value: rest.join('='), isInline: true }], positionals: [] };
}
