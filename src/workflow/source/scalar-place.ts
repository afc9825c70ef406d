import type { Scalar } from 'yaml';
import type { Path, SourceMap } from './source-map.ts';
import type { SourceText } from './source-text.ts';

/**
 * Notes where a scalar stands and, for a text, how its characters lie in the file, so that a mistake inside an
 * expression or a template can be pointed at.
 *
 * Texts whose characters are not those of the file (escapes, folded lines) are known by their beginning only.
 */
export function recordScalar(map: SourceMap, source: SourceText, node: Scalar, path: Path): void {
  const [start, end] = node.range ?? [0, 0];
  const { value } = node;
  if (typeof value !== 'string') {
    map.setValue(path, source, start, end);
    return;
  }
  if (node.type === 'BLOCK_LITERAL') {
    const header = source.place(start).line;
    const firstLine = header + 1;
    map.setValue(path, source, source.lineStart(firstLine), end, {
      kind: 'block',
      firstLine,
      indent: indentOf(source, firstLine, value),
    });
    return;
  }
  const quote = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE' ? 1 : 0;
  if (source.text.startsWith(value, start + quote)) {
    map.setValue(path, source, start, end, { kind: 'verbatim', start: start + quote });
  } else map.setValue(path, source, start, end);
}

/** By how much a literal block is indented: what its first line with text has in the file and not in the value. */
function indentOf(source: SourceText, firstLine: number, value: string): number {
  const lines = value.split('\n');
  const index = lines.findIndex((line) => line !== '');
  if (index < 0) return 0;
  const inFile = source.line(firstLine + index) ?? '';
  return Math.max(0, inFile.length - (lines[index] ?? '').length);
}
