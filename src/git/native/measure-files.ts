import { accessSync, constants, lstatSync, readdirSync, type Stats } from 'node:fs';
import { errnoOf } from '../object-errors.ts';

const SPECIAL = 'is no file, link or folder but a socket, a pipe or a device; ignore it';

/**
 * Tells how many bytes a file has, without opening it.
 *
 * @param path below `top`, in Latin-1
 * @returns `undefined` if it is not there; why it cannot be recorded, with what helps
 */
export function measureFile(top: string, path: string): number | string | undefined {
  const file = pathAt(top, path);
  try {
    const stats = lstatSync(file);
    if (isSpecial(stats)) return SPECIAL;
    if (!stats.isSymbolicLink()) accessSync(file, constants.R_OK);
    return stats.isFile() ? stats.size : 0;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR') return undefined;
    return `cannot be read (${errno ?? 'for an unknown reason'}); change who may read it, or ignore it`;
  }
}

/** What lies in folders beside what git sees there. */
export type FolderContent = {
  /** Folders that are there, and no links to some: what seems to lie behind a link is not in the work tree. */
  real: Set<string>;
  /** Sockets, pipes, devices, and folders that cannot be looked into. */
  strangers: string[];
};

/**
 * Looks into folders for what git does not see.
 *
 * @param folders from `top`, in Latin-1, each ending in a slash but the top itself, which is ''; with those above them
 * @param known folders that git has seen
 */
export function lookIntoFolders(top: string, folders: Iterable<string>, known: ReadonlySet<string>): FolderContent {
  const real = new Set(['']);
  const strangers: string[] = [];
  // Those above come first.
  for (const folder of [...folders].toSorted()) {
    if (!real.has(folder)) continue;
    for (const entry of entriesOf(pathAt(top, folder))) {
      const path = folder + entry.name;
      if (isSpecial(entry)) strangers.push(path);
      if (!entry.isDirectory()) continue;
      real.add(`${path}/`);
      const isUnknown = entry.name !== '.git' && !known.has(`${path}/`);
      if (isUnknown && typeof measureFile(top, path) === 'string') strangers.push(path);
    }
  }
  return { real, strangers };
}

function entriesOf(
  folder: Buffer,
): { name: string; isDirectory(): boolean; isFile(): boolean; isSymbolicLink(): boolean }[] {
  try {
    return readdirSync(folder, { encoding: 'latin1', withFileTypes: true });
  } catch {
    // Gone, no folder any more, or named where what is tracked below it is measured.
    return [];
  }
}

function isSpecial(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): boolean {
  return !entry.isFile() && !entry.isDirectory() && !entry.isSymbolicLink();
}

function pathAt(top: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);
}
