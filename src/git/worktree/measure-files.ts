import { accessSync, constants, lstatSync, readdirSync, readFileSync, type Dirent, type Stats } from 'node:fs';
import { orElse } from '../../or-else.ts';
import { errnoOf, isNotThere } from '../format/object-errors.ts';

const SPECIAL = 'is no file, link or folder but a socket, a pipe or a device; ignore it';

/**
 * Returns the size of a file, without opening it.
 *
 * @param path below `top`, in Latin-1
 * @returns `undefined` if it does not exist; a text if it cannot be recorded, with the reason and a remedy
 */
export function measureFile(top: string, path: string): number | string | undefined {
  const file = pathAt(top, path);
  try {
    const stats = lstatSync(file);
    if (isSpecial(stats)) return SPECIAL;
    if (!stats.isSymbolicLink()) accessSync(file, constants.R_OK);
    return stats.isFile() ? stats.size : 0;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    return `cannot be read (${errnoOf(error) ?? 'for an unknown reason'}); change who may read it, or ignore it`;
  }
}

/** Tells whether a file has the marks that git writes around the sides of a conflict. */
export function hasMarks(top: string, path: string): boolean {
  if (typeof measureFile(top, path) !== 'number') return false;
  const text = orElse(() => readFileSync(pathAt(top, path), 'latin1'), '');
  return /^<{7,} /m.test(text) && /^>{7,} /m.test(text);
}

/** Entries of folders that git does not list. */
export type FolderContent = {
  /** Existing folders that are no links: a path behind a link is not in the work tree. */
  real: Set<string>;
  /** Sockets, pipes, devices, and folders that cannot be read. */
  unlisted: string[];
};

/**
 * Searches folders for entries that git does not list.
 *
 * @param folders relative to `top`, in Latin-1, each with a slash at its end, except the top itself, which is ''; with all
 * parents
 * @param known folders that git has listed
 */
export function lookIntoFolders(top: string, folders: Iterable<string>, known: ReadonlySet<string>): FolderContent {
  const real = new Set(['']);
  const unlisted: string[] = [];
  // Parents come first.
  for (const folder of [...folders].toSorted()) {
    if (!real.has(folder)) continue;
    // An error means that it is gone, no folder any more, or reported for the tracked files below it.
    const read = (): Dirent[] => readdirSync(pathAt(top, folder), { encoding: 'latin1', withFileTypes: true });
    for (const entry of orElse(read, [])) {
      const path = folder + entry.name;
      if (isSpecial(entry)) unlisted.push(path);
      if (!entry.isDirectory()) continue;
      real.add(`${path}/`);
      const isUnknown = entry.name !== '.git' && !known.has(`${path}/`);
      if (isUnknown && typeof measureFile(top, path) === 'string') unlisted.push(path);
    }
  }
  return { real, unlisted };
}

function isSpecial(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): boolean {
  return !entry.isFile() && !entry.isDirectory() && !entry.isSymbolicLink();
}

function pathAt(top: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);
}
