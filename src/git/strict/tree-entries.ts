import { isDotGit, isDotGitFile } from '../dot-git.ts';
import { objectIdFromBytes, type ObjectId } from '../object-id.ts';

/** An entry of a tree that holds somebody's files. */
export type ForeignEntry = {
  /** For people: bytes that are no UTF-8 are replaced. */
  name: string;
  kind: 'folder' | 'file' | 'link' | 'submodule';
  id: ObjectId;
  /** True if some file system would take it for a file that git reads (`.gitmodules`, `.gitattributes`). */
  special: 'gitmodules' | 'gitattributes' | undefined;
};

/** More than any file system has. */
const MAX_NAME_BYTES = 4096;

const kinds: ReadonlyMap<string, ForeignEntry['kind']> = new Map([
  ['100644', 'file'],
  ['100755', 'file'],
  ['120000', 'link'],
  ['40000', 'folder'],
  ['160000', 'submodule'],
]);

/**
 * Reads a tree whose names may be any bytes, as strictly as `git fsck --strict` does.
 *
 * @param idBytes 20 or 32, by the repository's object format
 * @returns its entries, or why git would find fault with it
 * Source: `fsck_tree` and `verify_ordered` in git's fsck.c.
 */
export function readForeignTree(data: Uint8Array, idBytes: number): ForeignEntry[] | string {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const entries: ForeignEntry[] = [];
  const names = new Set<string>();
  let previous: Buffer | undefined;
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const nul = space === -1 ? -1 : bytes.indexOf(0, space);
    if (nul === -1 || nul + 1 + idBytes > bytes.length) return 'it is cut off';
    const kind = kinds.get(bytes.toString('latin1', at, space));
    const raw = bytes.subarray(space + 1, nul);
    // Each byte its own character: no two names that differ become the same.
    const key = raw.toString('latin1');
    const name = raw.toString('utf8');
    if (kind === undefined) return `${quote(name)} has the mode ${JSON.stringify(bytes.toString('latin1', at, space))}`;
    const reason = faultOfName(raw, name);
    if (reason !== undefined) return `${quote(name)} ${reason}`;
    if (names.has(key)) return `${quote(name)} is there twice`;
    names.add(key);
    const sorted = kind === 'folder' ? Buffer.concat([raw, Buffer.from('/')]) : raw;
    if (previous !== undefined && Buffer.compare(previous, sorted) >= 0) return 'its entries are not in order';
    previous = sorted;
    const id = objectIdFromBytes(bytes.subarray(nul + 1, nul + 1 + idBytes));
    if (/^0+$/.test(id)) return `${quote(name)} is no object`;
    const special = specialOf(name);
    if (special === 'gitmodules' && kind === 'link') return `${quote(name)} is a symbolic link`;
    entries.push({ name, kind, id, special });
    at = nul + 1 + idBytes;
  }
  return entries;
}

/**
 * Tells whether a tree has a file that its group may write. Who reads trees takes it for a plain one; `git fsck --strict` finds
 * fault with it.
 *
 * @param data a tree, damaged or not
 * @param idBytes 20 or 32, by the repository's object format
 * Source: `fsck_tree` in git's fsck.c, `BAD_FILEMODE`.
 */
export function hasOldMode(data: Uint8Array, idBytes: number): boolean {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (!bytes.includes(OLD_MODE)) return false;
  for (let at = 0; at < bytes.length;) {
    if (bytes.subarray(at, at + OLD_MODE.length).equals(OLD_MODE)) return true;
    const nul = bytes.indexOf(0, at);
    if (nul === -1) return false;
    at = nul + 1 + idBytes;
  }
  return false;
}

const OLD_MODE = Buffer.from('100664 ');

function faultOfName(raw: Buffer, name: string): string | undefined {
  if (raw.byteLength === 0) return 'has no name';
  if (raw.byteLength > MAX_NAME_BYTES) return `has a name of more than ${MAX_NAME_BYTES} bytes`;
  if (raw.includes('/')) return "holds a '/'";
  if (name === '.' || name === '..') return 'would be a folder of the file system';
  // What compares names as HFS+ does stops at the first byte that is no UTF-8.
  return isDotGit(name) || isDotGit(upToInvalid(name)) ? "would be taken for '.git'" : undefined;
}

function specialOf(name: string): ForeignEntry['special'] {
  for (const special of ['gitmodules', 'gitattributes'] as const) {
    if (isDotGitFile(name, special) || isDotGitFile(upToInvalid(name), special)) return special;
  }
  return undefined;
}

function upToInvalid(name: string): string {
  return name.split('\ufffd', 1)[0] ?? '';
}

function quote(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
