import { widthOf } from './width.ts';

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
