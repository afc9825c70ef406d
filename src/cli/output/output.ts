import type { JsonValue } from '../../json.ts';
import { shellQuoted } from '../../text/wording.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { type Column, formatTable } from './table.ts';
import { allHarmless, createPalette, harmlessJson, type Palette } from './text.ts';

/** A value that is printed under `--json`. `undefined` members are left out, as JSON does. */
type Printable = object | readonly object[];

/** Where a command's results go: as text for people, or as the JSON that was asked for. */
export interface Output {
  readonly isJson: boolean;
  /** Colours of stdout. */
  readonly paint: Palette;
  /**
   * Prints the result of a command: under `--json` the value, with the fields that were asked for; else the text, which
   * is made only then. On a terminal a text that does not fit is shown page by page.
   */
  result(value: Printable, text: () => string | Promise<string>): Promise<void>;
  /** Writes rows as a table that fits stdout. */
  format<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string;
  /** Prints a list: under `--json` its rows, else a table of them. */
  table<Row extends object>(rows: readonly Row[], columns: readonly Column<Row>[]): Promise<void>;
  /** Prints rows of a table in a pipe, below those that were printed before; `widths` is empty at first. */
  rows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], widths: number[]): void;
  /** Prints one line of a stream of results: JSON lines, or the text if there is one. */
  line(value: object, text?: string): Promise<void>;
  /** Says something that is no result, on stderr. */
  note(text: string): void;
  /** Says what to try next, on stderr; not under `--json`. */
  hint(text: string): void;
}

type OutputOptions = { json: true | readonly string[] | undefined; query: string | undefined };

export function createOutput(cli: CliEnvironment, { json, query }: OutputOptions): Output {
  const isJson = json !== undefined;
  const isTerminal = cli.stdout.isTTY === true;

  const printJson = async (value: Printable, indent: number): Promise<void> => {
    const picked = json === true || json === undefined ? value : pick(value, json);
    const result = query === undefined ? picked : await evaluateQuery(query, picked);
    // A query that finds nothing prints nothing.
    if (result !== undefined) cli.stdout.write(`${harmlessJson(JSON.stringify(result, null, indent))}\n`);
  };

  const paint = createPalette(cli.stdout, cli.env);
  const say = (text: string): void => {
    cli.stderr.write(`${allHarmless(text, createPalette(cli.stderr, cli.env))}\n`);
  };

  const output: Output = {
    isJson,
    paint,
    format: (rows, columns) => formatTable(rows, columns, paint, cli.stdout),
    table: (rows, columns) => output.result(rows, () => output.format(rows, columns)),
    rows(rows, columns, widths) {
      if (rows.length > 0)
        cli.stdout.write(`${allHarmless(formatTable(rows, columns, paint, cli.stdout, widths), paint)}\n`);
    },
    async result(value, text) {
      // One line in a pipe, where programs read; spread out where a person does.
      if (isJson) return printJson(value, isTerminal ? 2 : 0);
      const written = await text();
      if (written === '') return;
      const whole = allHarmless(written.endsWith('\n') ? written : `${written}\n`, paint);
      if (!isTerminal) cli.stdout.write(whole);
      else await (await import('./pager.ts')).page(cli, whole);
    },
    async line(value, text) {
      if (isJson) return printJson(value, 0);
      if (text !== undefined) cli.stdout.write(`${allHarmless(text, paint)}\n`);
    },
    note: say,
    hint(text) {
      if (!isJson) say(`${createPalette(cli.stderr, cli.env).hint('hint:')} ${hintFrom(cli, text)}`);
    },
  };
  return output;
}

function pick(value: Printable, fields: readonly string[]): Printable {
  if (Array.isArray(value)) return value.map((item: object) => pick(item, fields));
  const members = new Map(Object.entries(value));
  return Object.fromEntries(fields.filter((field) => members.has(field)).map((field) => [field, members.get(field)]));
}

async function evaluateQuery(query: string, value: Printable): Promise<unknown> {
  const { runQuery } = await import('./query.ts');
  // What a command prints is made for JSON.stringify, which leaves nothing but JSON.
  const json: JsonValue = JSON.parse(JSON.stringify(value));
  return runQuery(query, json);
}

/** A hint whose commands of uwf mean the same folder as the command that gives it: one that `-C` named is named again. */
export function hintFrom({ givenFolder }: Pick<CliEnvironment, 'givenFolder'>, hint: string): string {
  if (givenFolder === undefined) return hint;
  return hint.replaceAll(/(?<=')uwf (?=[a-z])/g, () => `uwf -C ${quoted(givenFolder)} `);
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w+,./:=@^-]+$/.test(path) ? path : shellQuoted(path);
}
