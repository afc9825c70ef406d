import { widthOf } from '../output/width.ts';
import type { Command, OptionSpec } from '../command-line/command.ts';
import type { CommandEntry } from '../commands/command-table.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { createPalette, type Palette } from '../output/palette.ts';
import { globalOptions, jsonOptions } from '../command-line/parse-arguments.ts';

/** Help is laid out for this width, whatever the terminal's, so that it reads alike everywhere. */
const COLUMNS = 80;

/** The help of one command: what it does, how it is used, examples, and what its output and exit codes mean. */
export function commandHelp(
  cli: Pick<CliEnvironment, 'stdout' | 'env'>,
  { name, summary }: Pick<CommandEntry, 'name' | 'summary'>,
  command: Command,
): string {
  const paint = createPalette(cli.stdout, cli.env);
  const section = (title: string, body: string): string => (body === '' ? '' : `${paint.title(title)}\n${body}`);
  const examples = command.examples.map((example) => `  ${paint.quiet(`# ${example.comment}`)}\n  ${example.command}`);
  const parts = [
    `uwf ${name}: ${summary}`,
    `usage: ${synopsisOf(name, command)}`,
    wrap(command.description ?? '', COLUMNS),
    section('arguments', formatRows(command.arguments.map((spec) => [`<${spec.name}>`, spec.summary] as const))),
    section('options', formatOptions(command, paint)),
    section('examples', examples.join('\n')),
    section('fields of --json', formatRows(Object.entries(command.json ?? {}))),
    section('exit codes', formatRows(Object.entries(command.exitCodes ?? {}))),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** `uwf thread step [<options>] <thread>`. */
function synopsisOf(name: string, command: Pick<Command, 'arguments' | 'options'>): string {
  const options = Object.keys(command.options).length > 0 ? ' [<options>]' : '';
  const names = command.arguments.map(({ name, isOptional, isRepeatable }) => {
    const argument = `<${name}>${isRepeatable ? '…' : ''}`;
    return isOptional ? ` [${argument}]` : ` ${argument}`;
  });
  return `uwf ${name}${options}${names.join('')}`;
}

/** `-p, --prompt <text>`. */
function formatOption(name: string, spec: OptionSpec): string {
  const isLetter = name.length === 1;
  const short = spec.short === undefined ? '    ' : `-${spec.short}${isLetter ? '' : ', '}`;
  const long = isLetter ? '' : `--${name}`;
  const value = spec.value === undefined ? '' : spec.isValueOptional ? `[=${spec.value}]` : ` ${spec.value}`;
  return `${short}${long}${value}`;
}

function formatOptions(command: Command, paint: Palette): string {
  const own = Object.entries(command.options);
  const common = Object.entries({ ...(command.json && jsonOptions), ...globalOptions });
  const row = ([name, spec]: [string, OptionSpec]): readonly [string, string] => [
    formatOption(name, spec),
    spec.summary,
  ];
  const lines = formatRows([...own, ...common].map(row)).split('\n');
  const firstCommon = lines.findIndex((line) => line.includes(common[0] ? formatOption(...common[0]) : ''));
  // The options that all commands have come last and are dimmed.
  return lines.map((line, index) => (index < firstCommon ? line : paint.quiet(line))).join('\n');
}

function formatRows(rows: readonly (readonly [string, string])[]): string {
  const indented = rows.map(([name, text]) => [`  ${name}`, text] as const);
  return wrapRows(indented, COLUMNS);
}

/** Lays paragraphs (parted by blank lines) out anew in lines of at most so many columns; a longer word has its own. */
export function wrap(text: string, columns: number): string {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => wrapWords(paragraph.split(/\s+/).filter(Boolean), columns).join('\n'))
    .join('\n\n');
}

/** Writes names and what is said of them as two columns, the second laid out in lines that begin below each other. */
export function wrapRows(rows: readonly (readonly [name: string, text: string])[], columns: number): string {
  const width = Math.max(0, ...rows.map(([name]) => widthOf(name)));
  return rows
    .flatMap(([name, text]) => {
      const lines = wrapWords(text.split(/\s+/).filter(Boolean), Math.max(columns - width - 2, 30));
      return lines.map((line, index) => `${(index === 0 ? name : '').padEnd(width)}  ${line}`);
    })
    .join('\n');
}

function wrapWords(words: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
