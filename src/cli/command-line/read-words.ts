import { Argument, Command as Commander, CommanderError, type Help, Option } from 'commander';
import { nearestName } from '../../text/nearest-name.ts';
import { withArticle } from '../../text/wording.ts';
import { type CommandEntry, commandTable } from '../commands/command-table.ts';
import { hintAtName, UsageError } from '../errors/exit-code.ts';
import { createPalette, type Palette } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import type { Command, OptionSpec } from './command.ts';

type ReadWords = {
  args: Record<string, string | readonly string[] | undefined>;
  options: Record<string, unknown>;
  /** `--json`: every field, or those that are named; `undefined` where no JSON is asked for. */
  json: true | readonly string[] | undefined;
  /** `--query`, which asks for JSON too. */
  query: string | undefined;
} & CommonValues;

/** Reads the words of a command, typed as `name`; `undefined` where they asked for the help, which is written then. */
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
    case 'commander.conflictingOption': {
      const names = [...message.matchAll(/--[\w-]+/g)].map(([option]) => option);
      return new UsageError(`${names.join(' and ')} exclude each other`, 'give one of them');
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

type Terminal = Pick<CliEnvironment, 'stdout' | 'env'>;

const COMMON = 'Common options:';

/** Makes what Commander reads the words of a command by, and writes its help from, of the command's declaration. */
export function toCommander(
  cli: Terminal,
  { name, summary }: Pick<CommandEntry, 'name' | 'summary'>,
  command: Command,
  argv: readonly string[] = [],
): Commander {
  const paint = createPalette(cli.stdout, cli.env);
  const commander: Commander = createCommander(cli, `uwf ${name}`, paint)
    .addHelpText('before', `uwf ${name}: ${summary}\n`)
    // A single end of a line is none of the paragraph's.
    .description((command.description ?? '').replaceAll(/(?<!\n)\n(?!\n)/g, ' '))
    .addHelpText('after', () => moreHelp(command, commander.createHelp(), paint));
  for (const { name: word, summary: about, isOptional, isRepeatable } of command.arguments) {
    const words = isRepeatable ? `${word}...` : word;
    commander.addArgument(new Argument(isOptional ? `[${words}]` : `<${words}>`, about));
  }
  const isForgotten = (text: string): boolean => {
    const word = text.replace(/=$/, '');
    return argv.includes(word) && commander.options.some(({ long }) => long === word);
  };
  for (const [option, spec] of Object.entries(command.options)) {
    commander.addOption(toOption(option, spec, isForgotten));
  }
  const common = [...(command.json ? jsonOptions(command.json) : []), ...commonOptions()];
  for (const option of common) commander.addOption(option.helpGroup(COMMON));
  return commander.addHelpOption(new Option('-h, --help', 'show this help').helpGroup(COMMON));
}

/** Makes the help of several commands: one line for each, in groups. */
export function toOverview(
  cli: Terminal,
  { usage, groups }: { usage: string; groups: readonly { title: string; commands: readonly CommandEntry[] }[] },
): Commander {
  const overview = createCommander(cli, 'uwf', createPalette(cli.stdout, cli.env)).usage(usage).helpOption(false);
  for (const { title, commands } of groups) {
    for (const { name, summary } of commands) {
      overview.addCommand(new Commander(name).summary(summary).helpGroup(title));
    }
  }
  return overview.helpCommand(false);
}

/** The values of what may also stand in front of the command's name. */
type CommonValues = { C?: string; pager: boolean };

function commonOptions(): Option[] {
  return [
    new Option('-C <folder>', 'work in this folder instead of the current one'),
    new Option('--no-pager', 'do not show long output page by page'),
  ];
}

function jsonOptions(fields: Readonly<Record<string, string>>): Option[] {
  const known = Object.keys(fields);
  const read = (text: string, before: readonly string[] = []): readonly string[] => {
    const names = text.split(',').filter((name) => name !== '');
    const unknown = names.find((name) => !known.includes(name));
    if (unknown === undefined) return [...before, ...names];
    throw new UsageError(`--json has no field '${unknown}' here`, `the fields are ${known.join(', ')}`);
  };
  return [
    new Option('--json [=fields]', 'print JSON; with =<a>,<b> only these fields').argParser(read),
    new Option('--query <jsonata>', 'print what this expression makes of the JSON'),
  ];
}

/** An option whose value is found under its name as it is typed. */
class TypedOption extends Option {
  override attributeName(): string {
    return this.name();
  }
}

function toOption(name: string, spec: OptionSpec, isForgotten: (text: string) => boolean): Option {
  const { summary, short, value, isValueOptional, isRepeatable, conflicts = [] } = spec;
  const flags = short === undefined ? `--${name}` : `-${short}, --${name}`;
  if (value === undefined) return new TypedOption(flags, summary).conflicts([...conflicts]).default(false);
  const words = `${flags} ${isValueOptional ? `[=${value.slice(1, -1)}]` : value}`;
  const option = new TypedOption(words, summary).conflicts([...conflicts]);
  if (isRepeatable) option.default([]);
  return option.argParser((text: string, before: unknown): unknown => {
    // A value that is an option is one that was forgotten. One that really begins so can follow an equals sign.
    if (isForgotten(text)) throw new UsageError(`--${name} needs a value: ${value}`);
    if (isValueOptional && text === '') return true;
    if (!isRepeatable) return valueOf(name, spec, text);
    const values = text.split(',').map((part) => valueOf(name, spec, part));
    return Array.isArray(before) ? [...before, ...values] : values;
  });
}

function valueOf(name: string, { candidates, parse }: OptionSpec, text: string): unknown {
  if (Array.isArray(candidates) && !candidates.includes(text)) {
    const choices: readonly string[] = candidates;
    const near = nearestName(text, choices);
    const hint = near === undefined ? '' : `did you mean '${near}'? `;
    throw new UsageError(`--${name} cannot be '${text}'`, `${hint}it is one of ${choices.join(', ')}`);
  }
  try {
    return parse === undefined ? text : parse(text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`--${name} ${error.message}`, error.hint);
    throw error;
  }
}

/** A Commander that throws its errors, and whose help reads alike on every terminal. */
function createCommander({ stdout }: Terminal, name: string, paint: Palette): Commander {
  return new Commander(name)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      outputError: () => {},
      // The palette knows.
      getOutHasColors: () => true,
    })
    .configureHelp({
      helpWidth: 80,
      minWidthToWrap: 30,
      styleTitle: paint.title,
      styleSubcommandText: paint.name,
      // Long names stand below each other, and `[=fields]` is one word with its option.
      optionTerm: ({ flags, short }) => `${short === undefined ? '    ' : ''}${flags.replace(' [=', '[=')}`,
      optionDescription: ({ description }) => description,
      argumentTerm: (argument) => `<${argument.name()}>`,
    });
}

/** What Commander has no words for: examples, the fields of the JSON and the exit codes. */
function moreHelp({ examples, json = {}, exitCodes = {} }: Command, help: Help, paint: Palette): string {
  const rows = (title: string, texts: Readonly<Record<string, string>>): string[] => {
    const width = Math.max(...Object.keys(texts).map((term) => term.length));
    const items = Object.entries(texts).map(([term, text]) => help.formatItem(term, width, text, help));
    return help.formatItemList(title, items, help);
  };
  const lines = examples.flatMap(({ command, comment }) => [`  ${paint.quiet(`# ${comment}`)}`, `  ${command}`]);
  return [
    '',
    ...help.formatItemList('Examples:', lines, help),
    ...rows('Fields of --json:', json),
    ...rows('Exit codes:', exitCodes),
  ]
    .join('\n')
    .trimEnd();
}

type CommandTarget =
  | { kind: 'command'; entry: CommandEntry; argv: string[]; front: CommonValues }
  /** Help for everything, or for a noun. */
  | { kind: 'help'; noun: string | undefined }
  | { kind: 'version' };

/**
 * Finds the command that a command line means. `-C <folder>` and `--no-pager` may stand in front, as with git. A noun alone
 * lists. `uwf help <command>` is `uwf <command> --help`.
 */
export function findCommand(argv: readonly string[]): CommandTarget {
  const { words: typed, front, isHelp: asksFirst, isVersion } = splitFront(argv);
  if (isVersion) return { kind: 'version' };
  const isHelp = asksFirst || typed[0] === 'help';
  const words = typed[0] === 'help' ? typed.slice(1) : typed;
  const [first, second] = words;
  if (first === undefined) return { kind: 'help', noun: undefined };
  const command = (entry: CommandEntry, rest: readonly string[]): CommandTarget => ({
    kind: 'command',
    entry,
    argv: isHelp ? [...rest, '--help'] : [...rest],
    front,
  });

  const single = commandTable.find((entry) => entry.noun === undefined && entry.verb === first);
  if (single) return command(single, words.slice(1));
  const ofNoun = commandTable.filter((entry) => entry.noun === first);
  if (ofNoun.length === 0) throw unknownCommand(first);
  const isAlone = second === undefined || second.startsWith('-');
  if (second === '--help' || second === '-h' || (isHelp && isAlone)) return { kind: 'help', noun: first };
  const verb = isAlone ? 'list' : second;
  const entry = ofNoun.find((candidate) => candidate.verb === verb);
  if (entry === undefined) throw unknownVerb(first, verb, ofNoun);
  return command(entry, words.slice(isAlone ? 1 : 2));
}

/** Reads the options in front of the command's name. */
export function splitFront(argv: readonly string[]): {
  front: CommonValues;
  words: string[];
  isHelp: boolean;
  isVersion: boolean;
} {
  const uwf = new Commander('uwf').passThroughOptions();
  // All that can be wrong here.
  uwf.configureOutput({ outputError: () => {} }).exitOverride(() => {
    throw new UsageError('-C needs a value: <folder>');
  });
  for (const option of commonOptions()) uwf.addOption(option);
  const { operands, unknown } = uwf
    .option('-h, --help')
    .option('-V, --version')
    .parseOptions([...argv]);
  const { help, version, ...front } = uwf.opts<CommonValues & { help?: true; version?: true }>();
  return { front, words: [...operands, ...unknown], isHelp: help === true, isVersion: version === true };
}

function unknownCommand(word: string): UsageError {
  if (word.startsWith('-')) return new UsageError(`uwf has no option ${word}`, "run 'uwf --help' to see what there is");
  const firsts = commandTable.map((entry) => entry.noun ?? entry.verb);
  // A person who thinks of threads only types `uwf start` or `uwf resume`.
  const asVerb = commandTable.find((entry) => entry.verb === word);
  const write = (near: string): string => `'uwf ${asVerb?.name ?? near}'`;
  const hint = hintAtName(word, asVerb ? [word] : firsts, "run 'uwf --help' to see all commands", write);
  return new UsageError(`'${word}' is not a command of uwf`, hint);
}

function unknownVerb(noun: string, verb: string, entries: readonly CommandEntry[]): UsageError {
  const verbs = entries.map((entry) => entry.verb);
  const show = verbs.includes('show') ? `; 'uwf ${noun} show ${verb}' shows one` : '';
  const hint = hintAtName(verb, verbs, `it has ${verbs.join(', ')}${show}`, (near) => `'uwf ${noun} ${near}'`);
  return new UsageError(`'uwf ${noun}' has no command '${verb}'`, hint);
}
