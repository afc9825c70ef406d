import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { WorkFolder } from './work-folder.ts';

/** The folder of what package managers fetch. */
const FETCHED = 'node_modules';

/** Something in a folder. */
export type FolderEntry = { path: string; isFolder: boolean };

/**
 * Walks over what is in a folder, by name, each folder before what is in it. Links are listed and not followed; what is in
 * `node_modules` is left out, and so is what is guarded.
 * @param real its real path
 * @param depth how deep to go; 1 is the folder alone
 */
export async function* walkFolder(
  folder: WorkFolder,
  real: string,
  depth: number,
): AsyncGenerator<FolderEntry, void, void> {
  for (const entry of await entriesOf(folder, real)) {
    const path = join(real, entry.name);
    if (!folder.isFree(path)) continue;
    const isFolder = entry.isDirectory();
    yield { path, isFolder };
    if (isFolder && depth > 1 && entry.name !== FETCHED) yield* walkFolder(folder, path, depth - 1);
  }
}

async function entriesOf(folder: WorkFolder, real: string): Promise<Dirent[]> {
  try {
    const { handle, at } = await folder.openFolder(real);
    try {
      const entries = await readdir(at, { withFileTypes: true });
      return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    } finally {
      await handle.close();
    }
  } catch {
    return [];
  }
}
