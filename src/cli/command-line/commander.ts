import { Argument, Command as Commander, Option, type Help } from 'commander';
import { nearestName } from '../../text/nearest-name.ts';
import type { CommandEntry } from '../commands/command-table.ts';
import { UsageError } from '../errors/usage-error.ts';
import { createPalette, type Palette } from '../output/palette.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import type { Command, OptionSpec } from './command.ts';

type Terminal = Pick<CliEnvironment, 'stdout' | 'env'>;

const COMMON = 'Common options:';

/**
 * Makes what Commander reads a command's words by, and writes its help from, of the command's declaration.
 *
 * @param argv the words that are to be read
 */
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
export type CommonValues = { C?: string; pager: boolean };

/** The options that every command has, beside its help. */
export function commonOptions(): Option[] {
  return [
    new Option('-C <folder>', 'work in this folder instead of the current one'),
    new Option('--no-pager', 'do not show long output page by page'),
  ];
}

/** The options of commands that print data. */
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
  const { summary, short, value, isValueOptional, isRepeatable } = spec;
  const flags = short === undefined ? `--${name}` : `-${short}, --${name}`;
  if (value === undefined) return new TypedOption(flags, summary).default(false);
  const option = new TypedOption(`${flags} ${isValueOptional ? `[=${value.slice(1, -1)}]` : value}`, summary);
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
