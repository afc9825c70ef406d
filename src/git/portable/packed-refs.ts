import { isObjectId } from '../object-id.ts';
import type { ObjectId } from '../object-id.ts';
import { BrokenPackedRefs } from '../ref-errors.ts';

/**
 * Parses a `packed-refs` file into values by name. The header and peeled tags (`^…`) are passed over.
 *
 * @param onBroken is called for a line that git cannot read, and throws if the others do not count then
 * Source: `packed_ref_store` in git's refs/packed-backend.c.
 */
export function parsePackedRefs(
  path: string,
  text: string,
  onBroken: (error: BrokenPackedRefs) => void,
): Map<string, ObjectId> {
  const refs = new Map<string, ObjectId>();
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  if (rest !== '')
    onBroken(new BrokenPackedRefs(path, `its last line has no end: ${JSON.stringify(rest.slice(0, 60))}`));
  for (const [number, line] of lines.entries()) {
    const space = line.indexOf(' ');
    const id = line.slice(0, space);
    if (space !== -1 && isObjectId(id)) refs.set(line.slice(space + 1), id);
    else if (!line.startsWith('^') && !(number === 0 && line.startsWith('#'))) {
      onBroken(new BrokenPackedRefs(path, `it has a line that git cannot read: ${JSON.stringify(line.slice(0, 60))}`));
    }
  }
  return refs;
}

/** The same file without some refs and their peeled values; every other line stays as it is. */
export function withoutPackedRefs(text: string, names: ReadonlySet<string>): string {
  const kept: string[] = [];
  let isDropping = false;
  for (const line of text.split('\n')) {
    if (!line.startsWith('^')) isDropping = names.has(line.slice(line.indexOf(' ') + 1));
    if (!isDropping) kept.push(line);
  }
  return kept.join('\n');
}
