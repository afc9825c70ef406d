import type { ArgumentSpec, Command, OptionSpec } from '../command.ts';
import type { CliContext } from '../context.ts';
import { createPalette, type Palette } from '../output/palette.ts';
import { wrap, wrapRows } from '../output/wrap.ts';
import { globalOptions, jsonOptions } from '../arguments/parse-arguments.ts';

/** Help is laid out for this width, whatever the terminal's, so that it reads alike everywhere. */
const COLUMNS = 80;

/** The help of one command: what it does, how it is used, examples, and what its output and exit codes mean. */
export function commandHelp(cli: Pick<CliContext, 'stdout' | 'env'>, name: string, command: Command): string {
  const paint = createPalette(cli.stdout, cli.env);
  const section = (title: string, body: string): string => (body === '' ? '' : `${paint.title(title)}\n${body}`);
  const parts = [
    `uwf ${name}: ${command.summary}`,
    `usage: ${usageOf(name, command)}`,
    wrap(command.description ?? '', COLUMNS),
    section('arguments', formatRows(command.arguments.map((spec) => [`<${spec.name}>`, spec.summary] as const))),
    section('options', formatOptions(command, paint)),
    section('examples', formatExamples(command, paint)),
    section('fields of --json', formatRows(Object.entries(command.json?.fields ?? {}))),
    section('exit codes', formatRows(Object.entries(command.exitCodes ?? {}))),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** `uwf thread step [<options>] <thread>`. */
export function usageOf(name: string, command: Pick<Command, 'arguments' | 'options'>): string {
  const options = Object.keys(command.options).length > 0 ? ' [<options>]' : '';
  return `uwf ${name}${options}${command.arguments.map((spec) => ` ${formatArgument(spec)}`).join('')}`;
}

function formatArgument({ name, isOptional, isRepeatable }: ArgumentSpec): string {
  const argument = `<${name}>${isRepeatable ? '…' : ''}`;
  return isOptional ? `[${argument}]` : argument;
}

/** `-p, --prompt <text>`. */
export function formatOption(name: string, spec: OptionSpec): string {
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
  // What every command has stands behind what this one has, and more quietly.
  return lines.map((line, index) => (index < firstCommon ? line : paint.quiet(line))).join('\n');
}

function formatExamples({ examples }: Command, paint: Palette): string {
  return examples.map(({ command, comment }) => `  ${paint.quiet(`# ${comment}`)}\n  ${command}`).join('\n');
}

function formatRows(rows: readonly (readonly [string, string])[]): string {
  return wrapRows(
    rows.map(([name, text]) => [`  ${name}`, text] as const),
    COLUMNS,
  );
}
