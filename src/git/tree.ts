import { isWellFormed } from '../is-well-formed.ts';
import { isDotGit } from './dot-git.ts';
import { CorruptObject, UnwritableObject } from './object-errors.ts';
import { hashObject, objectIdBytes, objectIdFromBytes } from './object-id.ts';
import type { ObjectFormat, ObjectId } from './object-id.ts';

/** File, executable, symbolic link, folder, and commit of a submodule. */
export type TreeMode = '100644' | '100755' | '120000' | '040000' | '160000';

/** One line of a tree: `name` is one path component. */
export type TreeEntry = { mode: TreeMode; name: string; id: ObjectId };

/**
 * Encodes a tree as git stores it, in git's order (bytes, folders compared as if they ended in `/`).
 *
 * @throws {UnwritableObject} for a name that is empty, holds `/` or NUL, is `.`, `..` or anything a file system takes
 * for `.git`, or is there twice
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

/** Modes as they stand in trees; group-writable files were written by very old gits and count as plain ones. */
const modes: ReadonlyMap<string, TreeMode> = new Map([
  ['100644', '100644'],
  ['100664', '100644'],
  ['100755', '100755'],
  ['120000', '120000'],
  ['40000', '040000'],
  ['160000', '160000'],
]);

/**
 * Reads a tree's entries in the order in which they are stored.
 *
 * @param format that of the repository it is from; the bytes do not tell
 * @throws {CorruptObject} for unknown modes, forbidden names, names that are not UTF-8, duplicates, wrong order or
 * truncation
 */
export function parseTree(data: Uint8Array, format: ObjectFormat = 'sha1'): TreeEntry[] {
  const corrupt = (reason: string): CorruptObject =>
    new CorruptObject(hashObject({ type: 'tree', data }, format), reason);
  const idBytes = objectIdBytes(format);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const entries: TreeEntry[] = [];
  const names = new Set<string>();
  let previousKey: Buffer | undefined;
  let at = 0;
  while (at < bytes.length) {
    const space = bytes.indexOf(0x20, at);
    const nul = space === -1 ? -1 : bytes.indexOf(0, space);
    if (nul === -1 || nul + 1 + idBytes > bytes.length) throw corrupt('the tree is truncated');
    const mode = modes.get(bytes.toString('latin1', at, space));
    if (mode === undefined) throw corrupt('a tree entry has an unknown mode');
    const rawName = bytes.subarray(space + 1, nul);
    const name = decodeName(rawName);
    if (name === undefined) throw corrupt('the name of a tree entry is not UTF-8');
    const reason = whyForbidden(name);
    if (reason !== undefined) throw corrupt(`the tree entry ${JSON.stringify(name)} ${reason}`);
    if (names.has(name)) throw corrupt(`the tree entry ${JSON.stringify(name)} is there twice`);
    names.add(name);
    const key = mode === '040000' ? Buffer.concat([rawName, Buffer.from('/')]) : rawName;
    if (previousKey !== undefined && Buffer.compare(previousKey, key) >= 0) {
      throw corrupt('the entries of the tree are not in order');
    }
    previousKey = key;
    at = nul + 1 + idBytes;
    entries.push({ mode, name, id: objectIdFromBytes(bytes.subarray(nul + 1, at)) });
  }
  return entries;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeName(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
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
