/**
 * The rows of the tables of keys below a heading of a reference, up to the next heading: the cells of each.
 * @param heading with its number signs
 */
export function keyTable(markdown: string, heading: string): string[][] {
  const start = markdown.indexOf(`\n${heading}\n`);
  if (start === -1) throw new Error(`there is no heading '${heading}'`);
  const [section = ''] = markdown.slice(start + heading.length + 2).split(/\n#{2,3} /);
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => row.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));
}

/** What stands in backticks in a cell. */
export function codesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}
