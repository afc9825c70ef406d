import { isObjectId } from '../object-id.ts';
import type { ObjectId } from '../object-id.ts';

/**
 * Parses a `packed-refs` file into values by name. Comments and peeled tags (`^…`) are passed over, as is a line that
 * is neither: git's own writes are whole or absent.
 *
 * Source: `packed_ref_store` in git's refs/packed-backend.c.
 */
export function parsePackedRefs(text: string): Map<string, ObjectId> {
  const refs = new Map<string, ObjectId>();
  for (const line of text.split('\n')) {
    const id = line.slice(0, 40);
    if (line[40] === ' ' && isObjectId(id)) refs.set(line.slice(41), id);
  }
  return refs;
}

/** The same file without some refs and their peeled values; every other line stays as it is. */
export function withoutPackedRefs(text: string, names: ReadonlySet<string>): string {
  const kept: string[] = [];
  let isDropping = false;
  for (const line of text.split('\n')) {
    if (!line.startsWith('^')) isDropping = names.has(line.slice(41));
    if (!isDropping) kept.push(line);
  }
  return kept.join('\n');
}
