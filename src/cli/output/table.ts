import type { OutputStream } from '../process/cli-environment.ts';
import { fitTo, oneLine, type Palette, widthOf } from './text.ts';

export type Column<Row> = {
  title: string;
  /** The cell's text, from whatever source: it is made harmless and put on one line. */
  cell: (row: Row) => string;
  paint?: (text: string, row: Row) => string;
  align?: 'right';
  /** A shorter text for the same, where the terminal is too narrow for the row. */
  short?: (row: Row) => string;
  /** How narrow it may be cut on a terminal; default: only the last column is cut. */
  least?: number;
  /** Left out where the terminal is too narrow for the least of all columns, the highest number first. */
  extra?: number;
};

/** Columns get their short texts if this width for each does not fit. */
const ENOUGH = 24;

/**
 * Writes rows as aligned columns below titles; '' where there are no rows.
 *
 * On a terminal columns are cut, and left out, so that a row takes one line; in a pipe nothing is cut.
 * @param before the widths of the columns of the rows that were written before, which the titles are above; is given those of
 * these rows
 */
export function formatTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  paint: Palette,
  stream: Pick<OutputStream, 'isTTY' | 'columns'>,
  before: number[] = [],
): string {
  if (rows.length === 0) return '';
  const available = stream.isTTY === true ? stream.columns || 80 : Infinity;
  const all = columns.map((column, place) => {
    const texts = rows.map((row) => oneLine(column.cell(row)));
    const least = column.least ?? (place === columns.length - 1 ? 10 : Infinity);
    return measured({ column, texts, width: before[place] ?? 0, least });
  });
  const isTight =
    sumOf(all.map(({ width, least }) => (least === Infinity ? width : Math.min(width, ENOUGH)))) > available;
  const shown = all.map((one) =>
    isTight && one.column.short ? measured({ ...one, width: 0, texts: rows.map(one.column.short) }) : one,
  );
  fitColumns(shown, available);

  const formatLine = (textOf: (shown: Shown<Row>) => string, colour: (text: string, shown: Shown<Row>) => string) => {
    const parts = shown.map((one, place) => {
      const text = fitTo(textOf(one), one.width);
      const padding = ' '.repeat(Math.max(one.width - widthOf(text), 0));
      const painted = colour(text, one);
      if (one.column.align === 'right') return padding + painted;
      return place === shown.length - 1 ? painted : painted + padding;
    });
    return parts.join('  ').trimEnd();
  };

  const head = formatLine(
    ({ column }) => column.title,
    (text) => paint.quiet(text),
  );
  const isFirst = before.length === 0;
  before.splice(0, Infinity, ...all.map(({ width }) => width));
  const body = rows.map((row, index) =>
    formatLine(
      ({ texts }) => texts[index] ?? '',
      (text, { column }) => column.paint?.(text, row) ?? text,
    ),
  );
  return [...(isFirst ? [head] : []), ...body].join('\n');
}

/** A column as it is shown; `width` shrinks until all fit. */
type Shown<Row> = { column: Column<Row>; texts: readonly string[]; width: number; least: number };

function measured<Row>(shown: Shown<Row>): Shown<Row> {
  const widest = shown.texts.reduce((most, text) => Math.max(most, widthOf(text)), widthOf(shown.column.title));
  return { ...shown, width: Math.max(shown.width, widest) };
}

/** Leaves out what is extra until the least of all columns fits, and then cuts the widest until they do. */
function fitColumns<Row>(shown: Shown<Row>[], available: number): void {
  const leastOf = ({ width, least }: Shown<Row>): number => Math.min(width, least);
  while (sumOf(shown.map(leastOf)) > available) {
    const extra = Math.max(...shown.map(({ column }) => column.extra ?? 0));
    if (extra === 0) break;
    const first = shown.findIndex(({ column }) => column.extra === extra);
    shown.splice(first, 1);
  }
  for (let excess = sumOf(shown.map(({ width }) => width)) - available; excess > 0; excess -= 1) {
    const [widest] = shown.filter((one) => one.width > leastOf(one)).toSorted((a, b) => b.width - a.width);
    if (widest === undefined) break;
    // A column far wider than the terminal is cut to its width in one go.
    const cut = Math.max(Math.min(widest.width - available, excess), 1);
    widest.width -= cut;
    excess -= cut - 1;
  }
}

/** What columns take in a line, with the room between them. */
function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + 2, -2);
}

/** Writes named facts as two aligned columns; facts without a text are left out. No newline at the end. */
export function formatFacts(facts: readonly (readonly [name: string, text: string | null | undefined])[]): string {
  const shown = facts.filter(([, text]) => text !== null && text !== undefined && text !== '');
  const width = Math.max(0, ...shown.map(([name]) => widthOf(name)));
  return shown.map(([name, text]) => `${name}${' '.repeat(width - widthOf(name))}  ${text ?? ''}`).join('\n');
}

/** Writes a reply's structured part, one member per line: `phases: [{"hash":…}]`. '' if it has none. */
export function formatMeta(meta: object): string {
  return Object.entries(meta)
    .map(([name, value]) => `${oneLine(name)}: ${oneLine(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('\n');
}

/** The length of the time in a thread's id. */
const LEAST = 10;

/** Returns a function that shortens an id to a prefix that is unique among `all`. */
export function shortIds(all: readonly string[]): (id: string) => string {
  const sorted = all.toSorted();
  const places = new Map(sorted.map((id, place) => [id, place]));
  return (id) => {
    const place = places.get(id) ?? 0;
    const others = [sorted[place - 1], sorted[place + 1]];
    let length = LEAST;
    while (length < id.length && others.some((other) => other?.startsWith(id.slice(0, length)))) length += 1;
    return id.slice(0, length);
  };
}
