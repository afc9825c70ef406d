import { fitTo, harmless, widthOf } from './width.ts';

/** Writes two texts beside each other, line by line; what is longer than its half goes on below. */
export function sideBySide(left: string, right: string, columns: number): string {
  const half = Math.max(Math.floor((columns - 3) / 2), 20);
  const [a, b] = [foldLines(left, half), foldLines(right, half)];
  const rows = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
    const text = a[i] ?? '';
    return `${text}${' '.repeat(Math.max(half - widthOf(text), 0))} │ ${b[i] ?? ''}`.trimEnd();
  });
  return rows.join('\n');
}

function foldLines(text: string, width: number): string[] {
  return harmless(text)
    .replaceAll('\t', '    ')
    .trimEnd()
    .split('\n')
    .flatMap((line) => foldLine(line, width));
}

/** Breaks a line at spaces, or in the middle of a word that is too long; indentation and inner spaces are kept. */
function foldLine(line: string, width: number): string[] {
  const folded: string[] = [];
  let rest = line;
  while (widthOf(rest) > width) {
    const fitting = fitTo(rest, width).slice(0, -1);
    const space = rest.lastIndexOf(' ', fitting.length);
    const cut = space > fitting.length / 2 ? space : Math.max(fitting.length, 1);
    folded.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return [...folded, rest];
}
