import { UwfError } from '../errors.ts';
import { isObjectId } from '../git/format/object-id.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { isNodeHash } from './hash.ts';
import type { NodeHash } from './hash.ts';

/** Where a tree holds a node: the blob `oid` at `path`, relative to the tree that carries the index. */
export type IndexEntry = { hash: NodeHash; oid: ObjectId; path: string };

/** The name of the blob that lists the nodes of a tree. */
export const INDEX_NAME = 'index';

/** A tree's index is not as uwf writes it. */
export class InvalidIndex extends UwfError {
  constructor(line: number, reason: string) {
    super(`the index of a tree is damaged${line === 0 ? '' : ` in line ${line}`}: ${reason}`, {
      code: 'invalid-index',
      kind: 'data',
      hint: 'it was not written by uwf; fetch the thread again',
      facts: { line, reason },
    });
  }
}

/**
 * Writes an index: a line `<hash> <oid> <path>` per node, sorted by hash, then by the path's bytes.
 *
 * @throws {InvalidIndex} if a path is empty, holds a line end or is listed twice
 */
export function formatIndex(entries: readonly IndexEntry[]): string {
  const sorted = entries.toSorted(compareEntries);
  const text = sorted.map((entry) => `${entry.hash} ${entry.oid} ${entry.path}\n`).join('');
  parseIndex(text);
  return text;
}

/**
 * Reads an index, and refuses every text that {@link formatIndex} would not have written.
 *
 * @throws {InvalidIndex} naming the line
 */
export function parseIndex(text: string): IndexEntry[] {
  if (text === '') return [];
  if (!text.endsWith('\n')) throw new InvalidIndex(0, 'its last line is cut off');
  const entries: IndexEntry[] = [];
  const paths = new Set<string>();
  for (const [at, line] of text.slice(0, -1).split('\n').entries()) {
    const entry = parseLine(line, at + 1);
    const previous = entries.at(-1);
    if (previous !== undefined && compareEntries(previous, entry) >= 0) throw new InvalidIndex(at + 1, 'out of order');
    if (paths.has(entry.path)) throw new InvalidIndex(at + 1, `'${entry.path}' is listed twice`);
    paths.add(entry.path);
    entries.push(entry);
  }
  return entries;
}

function parseLine(line: string, number: number): IndexEntry {
  const hash = line.slice(0, 13);
  const oidEnd = line.indexOf(' ', 14);
  const oid = line.slice(14, oidEnd);
  const path = line.slice(oidEnd + 1);
  if (!isNodeHash(hash) || line[13] !== ' ') throw new InvalidIndex(number, 'it does not start with a node hash');
  if (oidEnd === -1 || !isObjectId(oid)) throw new InvalidIndex(number, 'its second word is not an object id');
  if (path === '') throw new InvalidIndex(number, 'it names no path');
  return { hash, oid, path };
}

function compareEntries(a: IndexEntry, b: IndexEntry): number {
  if (a.hash !== b.hash) return a.hash < b.hash ? -1 : 1;
  return Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));
}
