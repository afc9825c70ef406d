import { readdirSync, rmdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolders } from '../../system/make-folders.ts';
import { errnoOf, isNotThere } from '../../format/object-errors.ts';
import { orElse } from '../../../or-else.ts';
import { syncFolder } from '../../system/durable-file.ts';

/** The folder is not empty, not there, or not a folder. */
const notRemoved = new Set<string | undefined>(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY']);
/** git never removes folders up to this depth: `refs/<first>`. */
const keptDepth = 2;

/**
 * Makes the folders above the file of a ref. Returns the folders that have to be synced for the file to be durable: its own,
 * and the parents of new folders.
 *
 * File system errors come through as they are: EEXIST and ENOTDIR say that one of the folders is a file.
 */
export function makeFoldersOf(path: string): string[] {
  const folder = dirname(path);
  const firstMade = makeFolders(folder);
  const changed = [folder];
  if (firstMade === undefined) return changed;
  for (let made = folder; made.length >= firstMade.length; made = dirname(made)) {
    changed.push(dirname(made));
  }
  return changed;
}

/** Syncs folders, each once. A folder that was removed meanwhile is skipped: its removal counts. */
export function syncFolders(folders: Iterable<string>): void {
  for (const folder of new Set(folders)) orElse(() => syncFolder(folder), undefined, isNotThere);
}

/**
 * Removes the folders above a ref that have become empty, as git does; `refs/<first>` stays.
 *
 * @param root the folder that `name` is a path in
 */
export function removeEmptyFoldersAbove(root: string, name: string): void {
  const components = name.split('/');
  for (let depth = components.length - 1; depth > keptDepth; depth--) {
    if (!removeIfEmpty(join(root, ...components.slice(0, depth)))) return;
  }
}

/** Removes a folder that holds only empty folders; tells whether it is gone. */
export function removeEmptyTree(path: string): boolean {
  if (removeIfEmpty(path)) return true;
  let entries: Dirent[];
  try {
    entries = readdirSync(path, { withFileTypes: true });
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return code === 'ENOENT';
    throw error;
  }
  return (
    entries.every((entry) => entry.isDirectory() && removeEmptyTree(join(path, entry.name))) && removeIfEmpty(path)
  );
}

function removeIfEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true;
    if (notRemoved.has(errnoOf(error))) return false;
    throw error;
  }
}
