import { diffLines, structuredPatch } from 'diff';

/** A line of a diff: with its number in the old text if it was deleted, in the new one otherwise. */
export type DiffLine = { kind: 'same' | 'added' | 'deleted'; number: number; text: string };

/** Lines that differ, with a few around them. */
export type DiffHunk = { lines: DiffLine[] };

/** A row of two texts beside each other; a side is absent where only the other text has a line. */
export type DiffRow = { isSame: boolean; left?: string; right?: string };

const CONTEXT_LINES = 3;
/** Texts that differ in more lines take a comparison whose time is the square of that: they are shown whole instead. */
const MAX_EDITS = 2_000;

/** Compares two texts by line; `undefined` if they differ in too much. */
export function lineHunks(before: string, after: string): DiffHunk[] | undefined {
  // Of a file that is new or gone each line differs.
  if (before === '') return wholeText('added', after);
  if (after === '') return wholeText('deleted', before);
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS };
  const patch = structuredPatch('', '', before, after, undefined, undefined, options);
  return patch?.hunks.map(({ oldStart, newStart, lines }) => {
    let [oldNumber, newNumber] = [oldStart, newStart];
    const shown: DiffLine[] = [];
    for (const line of lines) {
      const text = line.slice(1);
      if (line.startsWith('-')) shown.push({ kind: 'deleted', number: oldNumber++, text });
      else if (line.startsWith('+')) shown.push({ kind: 'added', number: newNumber++, text });
      else if (line.startsWith(' ')) {
        shown.push({ kind: 'same', number: newNumber++, text });
        oldNumber += 1;
      }
    }
    return { lines: shown };
  });
}

function wholeText(kind: 'added' | 'deleted', text: string): DiffHunk[] {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  return [{ lines: lines.map((line, index) => ({ kind, number: index + 1, text: line })) }];
}

/** Puts two texts beside each other, line by line; `undefined` if they differ in too much. */
export function lineRows(left: string, right: string): DiffRow[] | undefined {
  const changes = diffLines(left, right, { maxEditLength: MAX_EDITS });
  if (changes === undefined) return undefined;
  const rows: DiffRow[] = [];
  let deleted: string[] = [];
  const flush = (added: readonly string[]): void => {
    for (let at = 0; at < Math.max(deleted.length, added.length); at += 1) {
      const [old, fresh] = [deleted[at], added[at]];
      rows.push({
        isSame: false,
        ...(old !== undefined && { left: old }),
        ...(fresh !== undefined && { right: fresh }),
      });
    }
    deleted = [];
  };
  for (const { added, removed, value } of changes) {
    const lines = value.replace(/\n$/, '').split('\n');
    if (removed) deleted = lines;
    else if (added) flush(lines);
    else {
      flush([]);
      for (const line of lines) rows.push({ isSame: true, left: line, right: line });
    }
  }
  flush([]);
  return rows;
}
