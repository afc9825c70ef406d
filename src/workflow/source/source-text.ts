/** A stretch of a source file. Lines and columns count from 1, columns in UTF-16 code units, as editors and JSONata do. */
export type Place = {
  /** As it was handed to the loader; for an included file, relative to it in the same style. */
  file: string;
  line: number;
  column: number;
  /** Code units to underline; at least 1 and never past the end of the line. */
  length: number;
};

/** A source file held in memory, which turns offsets into places. */
export class SourceText {
  readonly file: string;
  readonly text: string;
  readonly #lineStarts: number[] = [0];

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      this.#lineStarts.push(at + 1);
    }
  }

  /** The place of `[start, end)`, cut off at the end of the line that `start` is on. */
  place(start: number, end: number = start + 1): Place {
    const offset = Math.max(0, Math.min(start, this.text.length));
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const lineStart = this.#lineStarts[low] ?? 0;
    const lineLength = this.line(low + 1)?.length ?? 0;
    const column = offset - lineStart + 1;
    const room = lineLength - (column - 1);
    return { file: this.file, line: low + 1, column, length: Math.max(1, Math.min(end - start, room)) };
  }

  /** The text of a line (from 1) without its line break; `undefined` behind the last. */
  line(number: number): string | undefined {
    const start = this.#lineStarts[number - 1];
    if (start === undefined) return undefined;
    const next = this.#lineStarts[number];
    const line = this.text.slice(start, next === undefined ? undefined : next - 1);
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }

  /** The offset at which a line (from 1) starts; the text's length behind the last. */
  lineStart(number: number): number {
    return this.#lineStarts[number - 1] ?? this.text.length;
  }
}
