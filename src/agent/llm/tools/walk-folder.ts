import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Folders that hold no work of anybody: git's own, and what package managers fetch. */
const skipped = new Set(['.git', 'node_modules']);

/** Something in a folder. */
export type FolderEntry = { path: string; isFolder: boolean };

/**
 * Walks over what is in a folder, by name, each folder before what is in it. Links are listed and not followed; what is in
 * `.git` and `node_modules` is left out.
 * @param depth how deep to go; 1 is the folder alone
 */
export async function* walkFolder(folder: string, depth: number): AsyncGenerator<FolderEntry, void, void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    const isFolder = entry.isDirectory();
    yield { path, isFolder };
    if (isFolder && depth > 1 && !skipped.has(entry.name)) yield* walkFolder(path, depth - 1);
  }
}
