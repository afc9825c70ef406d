/**
 * Writes what was measured as a table for people.
 *
 * @param {{ what: string, base: string, rounds: number }} comparison
 * @param {import('./measure.js').Row[]} rows
 * @returns {string} lines, the last one without its end
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
    row.ratio.toFixed(2),
    row.limit === undefined ? '' : `${Number(row.limit.toFixed(2))} ${isWithin(row) ? 'ok' : 'OVER'}`,
    ...figures.map((name) => (row.figures[name] === undefined ? '' : decimals(row.figures[name]))),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...lines].map((line) => line[column].length)));
  const align = (line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join('  ');
  const title = `${what} (${rounds} ${rounds === 1 ? 'round' : 'rounds'}; * = 1)`;
  return [title, align(header), ...lines.map(align)].map((line) => line.trimEnd()).join('\n');
}

/** Whether a contestant stayed within its limit; so does one that has none. */
export function isWithin({ ratio, limit }) {
  return limit === undefined || ratio <= limit;
}

function decimals(value) {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
