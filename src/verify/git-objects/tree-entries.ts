import { isDotGit, isDotGitFile } from '../../git/format/dot-git.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { quotePath } from '../../git/format/quote-path.ts';
import { kindOfMode, readTreeLines, type TreeLine } from '../../git/format/tree-lines.ts';

/** An entry of a tree of the user's files. */
export type ForeignEntry = {
  /** In Latin-1: each byte is a character. */
  name: string;
  kind: 'folder' | 'file' | 'link' | 'submodule';
  id: ObjectId;
  /** Set if some file system would open it under the name of a file that git reads (`.gitmodules`, `.gitattributes`). */
  special: 'gitmodules' | 'gitattributes' | undefined;
};

/** Longer than any file system allows. */
const MAX_NAME_BYTES = 4096;

const modes: ReadonlySet<string> = new Set(['100644', '100755', '120000', '40000', '160000']);

/**
 * Parses a tree whose names may be any bytes, with the checks of `git fsck --strict`.
 *
 * @param idBytes 20 or 32, by the repository's object format
 * @returns its entries, or the fault that git would find
 * Source: `fsck_tree` and `verify_ordered` in git's fsck.c.
 */
export function readForeignTree(data: Uint8Array, idBytes: number): ForeignEntry[] | string {
  const lines = readTreeLines(data, idBytes);
  return lines === undefined ? 'it is cut off' : (faultOfTree(lines) ?? lines.map(foreignEntry));
}

/** Describes an entry, without checking its name and mode. */
export function foreignEntry({ mode, name, id }: TreeLine): ForeignEntry {
  return { name, id, kind: kindOfMode(mode), special: specialOf(textOf(name)) };
}

function faultOfTree(lines: readonly TreeLine[]): string | undefined {
  const names = new Set<string>();
  let previous: string | undefined;
  for (const { mode, name, id } of lines) {
    if (!modes.has(mode)) return `${quote(name)} has the mode ${JSON.stringify(mode)}`;
    const kind = kindOfMode(mode);
    const reason = faultOfName(name, textOf(name));
    if (reason !== undefined) return `${quote(name)} ${reason}`;
    if (names.has(name)) return `${quote(name)} is there twice`;
    names.add(name);
    const sorted = kind === 'folder' ? `${name}/` : name;
    if (previous !== undefined && previous >= sorted) return 'its entries are not in order';
    previous = sorted;
    if (/^0+$/.test(id)) return `${quote(name)} is no object`;
    const isModules = kind === 'link' && specialOf(textOf(name)) === 'gitmodules';
    if (isModules) return `${quote(name)} is a symbolic link`;
  }
  return undefined;
}

/** Decodes a name as UTF-8. Replaces invalid bytes. */
function textOf(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

function faultOfName(raw: string, name: string): string | undefined {
  if (raw === '') return 'has no name';
  if (raw.length > MAX_NAME_BYTES) return `has a name of more than ${MAX_NAME_BYTES} bytes`;
  if (raw.includes('/')) return "holds a '/'";
  if (name === '.' || name === '..') return 'would be a folder of the file system';
  // Git's HFS+ comparison stops at the first byte that is not UTF-8.
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
  const quoted = quotePath(name.length > 100 ? `${name.slice(0, 100)}…` : name);
  return quoted.startsWith('"') ? quoted : `'${quoted}'`;
}
