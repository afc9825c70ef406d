import { Command, CommanderError, Option } from 'commander';
import type { OptionSpec } from '../command.ts';
import type { GivenOption, ReadWords } from './words.ts';

/**
 * Stands for `--json=<fields>` while commander reads: to commander an option that may have a value may also take the next
 * word for it, and `--json` never does.
 */
const JSON_FIELDS = '--json-fields=';
const JSON = '--json=';

/** Reads words with commander. */
export const readWords: ReadWords = (specs, argv) => {
  const command = new Command()
    .exitOverride()
    .helpOption(false)
    .argument('[words...]')
    .configureOutput({ writeErr: () => {} })
    .showSuggestionAfterError(false);
  const options: GivenOption[] = [];
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
  if (Object.hasOwn(specs, 'json')) add('json', `${JSON_FIELDS.slice(0, -1)} <fields>`);
  try {
    command.parse(argv.map(hide), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return judge(error, specs, options);
  }
  return { options, positionals: command.args.map(restore) };
};

function flagsOf(name: string, { short, value }: OptionSpec): string {
  // An option of one letter has no long form.
  const flags = name.length === 1 ? `-${name}` : `${short === undefined ? '' : `-${short}, `}--${name}`;
  return value === undefined ? flags : `${flags} <value>`;
}

function hide(word: string): string {
  return word.startsWith(JSON) ? JSON_FIELDS + word.slice(JSON.length) : word;
}

function restore(word: string): string {
  return word.startsWith(JSON_FIELDS) ? JSON + word.slice(JSON_FIELDS.length) : word;
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
