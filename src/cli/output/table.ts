import type { OutputStream } from './output-stream.ts';
import type { Palette } from './palette.ts';
import { fitTo, oneLine, widthOf } from './width.ts';

/** A column of a table. */
export type Column<Row> = {
  title: string;
  /** The cell's text, from whatever source: it is made harmless and put on one line. */
  cell: (row: Row) => string;
  paint?: (text: string, row: Row) => string;
  align?: 'right';
};

/**
 * Writes rows as aligned columns below titles; '' where there are no rows.
 *
 * On a terminal the last column is cut so that a row takes one line; in a pipe nothing is cut.
 */
export function formatTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  paint: Palette,
  stream: Pick<OutputStream, 'isTTY' | 'columns'>,
): string {
  if (rows.length === 0) return '';
  const cells = rows.map((row) => columns.map((column) => oneLine(column.cell(row))));
  const widths = columns.map(({ title }, place) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[place] ?? ''))),
  );
  const available = stream.isTTY === true ? (stream.columns ?? 80) : Infinity;
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const lastWidth = Math.max(available - before, 10);

  const formatLine = (texts: readonly string[], colour: (text: string, place: number) => string): string => {
    const parts = columns.map(({ align }, place) => {
      const isLast = place === columns.length - 1;
      const text = isLast ? fitTo(texts[place] ?? '', lastWidth) : (texts[place] ?? '');
      const padding = ' '.repeat(Math.max((widths[place] ?? 0) - widthOf(text), 0));
      const painted = colour(text, place);
      if (align === 'right') return padding + painted;
      return isLast ? painted : painted + padding;
    });
    return parts.join('  ').trimEnd();
  };

  const head = formatLine(
    columns.map((column) => column.title),
    (text) => paint.quiet(text),
  );
  const body = rows.map((row, index) =>
    formatLine(cells[index] ?? [], (text, place) => columns[place]?.paint?.(text, row) ?? text),
  );
  return [head, ...body].join('\n');
}

/** Writes named facts as two aligned columns; facts without a text are left out. No newline at the end. */
export function formatFacts(facts: readonly (readonly [name: string, text: string | null | undefined])[]): string {
  const shown = facts.filter(([, text]) => text !== null && text !== undefined && text !== '');
  const width = Math.max(0, ...shown.map(([name]) => widthOf(name)));
  return shown.map(([name, text]) => `${name}${' '.repeat(width - widthOf(name))}  ${text ?? ''}`).join('\n');
}
