import { orElse } from '../../or-else.ts';
import { isWellFormed } from '../../is-well-formed.ts';
import { isDotGit } from './dot-git.ts';
import { CorruptObject, UnwritableObject } from './object-errors.ts';
import { hashObject, objectIdBytes } from './object-id.ts';
import type { ObjectFormat, ObjectId } from './object-id.ts';
import { readTreeLines } from './tree-lines.ts';

/** File, executable, symbolic link, folder, and commit of a submodule. */
export type TreeMode = '100644' | '100755' | '120000' | '040000' | '160000';

/** One line of a tree: `name` is one path component. */
export type TreeEntry = { mode: TreeMode; name: string; id: ObjectId };

/**
 * Encodes a tree as git stores it, in git's order (bytes, folders compared as if they ended in `/`).
 *
 * @throws {UnwritableObject} for a name that is empty, holds `/` or NUL, is `.`, `..` or a name that a file system treats as
 * `.git`, or occurs twice
 * Source: git's `base_name_compare` (read-cache.c) and `fsck_tree` (fsck.c).
 */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const names = new Set<string>();
  const lines = entries.map((entry) => {
    const reason = whyForbidden(entry.name);
    if (reason !== undefined) {
      throw new UnwritableObject(`the tree entry ${JSON.stringify(entry.name)} ${reason}`);
    }
    if (names.has(entry.name)) {
      throw new UnwritableObject(`the tree entry ${JSON.stringify(entry.name)} is there twice`);
    }
    names.add(entry.name);
    const isFolder = entry.mode === '040000';
    return {
      key: Buffer.from(isFolder ? `${entry.name}/` : entry.name),
      // Git writes modes without leading zeros; a zero there fails `fsck --strict`.
      head: Buffer.from(`${isFolder ? '40000' : entry.mode} ${entry.name}\0`),
      id: Buffer.from(entry.id, 'hex'),
    };
  });
  lines.sort((a, b) => Buffer.compare(a.key, b.key));
  return Buffer.concat(lines.flatMap((line) => [line.head, line.id]));
}

/** Modes as they are stored in trees. */
const modes: ReadonlyMap<string, TreeMode> = new Map([
  ['100644', '100644'],
  ['100755', '100755'],
  ['120000', '120000'],
  ['40000', '040000'],
  ['160000', '160000'],
]);

/**
 * Reads a tree that uwf wrote, in the stored order. For trees of users there is `readTreeLines`, which accepts any name.
 *
 * @param format that of its repository; the bytes do not show it
 * @throws {CorruptObject} for unknown modes, forbidden names, names that are not UTF-8, duplicates, wrong order or
 * truncation
 */
export function parseTree(data: Uint8Array, format: ObjectFormat = 'sha1'): TreeEntry[] {
  const corrupt = (reason: string): CorruptObject =>
    new CorruptObject(hashObject({ type: 'tree', data }, format), reason);
  const lines = readTreeLines(data, objectIdBytes(format));
  if (lines === undefined) throw corrupt('the tree is truncated');
  const names = new Set<string>();
  let previous: string | undefined;
  return lines.map((line) => {
    const mode = modes.get(line.mode);
    if (mode === undefined) throw corrupt('a tree entry has an unknown mode, or a mode that git no longer writes');
    const name = decodeName(line.name);
    if (name === undefined) throw corrupt('the name of a tree entry is not UTF-8');
    const reason = whyForbidden(name);
    if (reason !== undefined) throw corrupt(`the tree entry ${JSON.stringify(name)} ${reason}`);
    if (names.has(name)) throw corrupt(`the tree entry ${JSON.stringify(name)} is there twice`);
    names.add(name);
    const key = mode === '040000' ? `${line.name}/` : line.name;
    if (previous !== undefined && previous >= key) throw corrupt('the entries of the tree are not in order');
    previous = key;
    return { mode, name, id: line.id };
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param name in Latin-1 */
function decodeName(name: string): string | undefined {
  if (/^[\0-\x7f]*$/.test(name)) return name;
  return orElse(() => utf8.decode(Buffer.from(name, 'latin1')), undefined);
}

function whyForbidden(name: string): string | undefined {
  if (name === '') return 'has no name';
  if (name.includes('/')) return "holds a '/'";
  if (name.includes('\0')) return 'holds a NUL';
  if (name === '.' || name === '..') return 'would be a folder of the file system';
  if (!isWellFormed(name)) return 'is not well-formed Unicode';
  if (isDotGit(name)) return "would be taken for '.git'";
  return undefined;
}
