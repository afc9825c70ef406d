/**
 * Formats measurements as a table.
 *
 * @param {{ what: string, base: string, rounds: number }} comparison
 * @param {import('./measure.js').Row[]} rows
 * @returns {string} lines, without a final newline
 */
export function formatTable({ what, base, rounds }, rows) {
  const figures = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))];
  const hasCpu = rows.some((row) => row.cpuMs !== undefined);
  const header = ['', 'median ms', 'fastest', ...(hasCpu ? ['CPU ms'] : []), 'ratio', 'limit', ...figures];
  const lines = rows.map((row) => [
    row.name === base ? `${row.name} *` : row.name,
    decimals(row.medianMs),
    decimals(row.fastestMs),
    ...(hasCpu ? [decimals(row.cpuMs)] : []),
    ratioOf(row),
    limitOf(row),
    ...figures.map((name) => (row.figures[name] === undefined ? '' : decimals(row.figures[name]))),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...lines].map((line) => line[column].length)));
  const align = (line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join('  ');
  const title = `${what} (${rounds} ${rounds === 1 ? 'round' : 'rounds'}; * = 1)`;
  return [title, align(header), ...lines.map(align)].map((line) => line.trimEnd()).join('\n');
}

/**
 * Whether a contestant is within its limit; true if it has none.
 *
 * @param {Pick<import('./measure.js').Row, 'ratio' | 'limit'>} row
 */
export function isWithin({ ratio, limit }) {
  return limit === undefined || ratio <= limit;
}

/**
 * A ratio and its limit have two digits behind the point, and more if they would look alike otherwise.
 *
 * @param {Pick<import('./measure.js').Row, 'ratio' | 'limit'>} row
 */
function digitsOf({ ratio, limit }) {
  const isTold = (digits) => limit === undefined || ratio === limit || ratio.toFixed(digits) !== limit.toFixed(digits);
  return [2, 3, 4].find(isTold) ?? 5;
}

function ratioOf(row) {
  return row.ratio.toFixed(digitsOf(row));
}

function limitOf(row) {
  if (row.limit === undefined) return '';
  return `${Number(row.limit.toFixed(digitsOf(row)))} ${isWithin(row) ? 'ok' : 'OVER'}`;
}

function decimals(value) {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
