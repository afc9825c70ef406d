import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orElse } from '../../or-else.ts';

let found: string | undefined;

/**
 * Finds the folder that uwf is installed in: the nearest one upward from this module whose `package.json` is uwf's own.
 *
 * Works in the sources, in the library's bundle and in the command's bundle. The path is absolute, and is found once per process.
 * @throws {Error} if no such folder exists: the installation is broken
 */
export function packageRoot(): string {
  found ??= findPackageRoot(import.meta.dirname);
  return found;
}

function findPackageRoot(startFolder: string): string {
  for (let folder = startFolder; ; folder = dirname(folder)) {
    if (isPackageRoot(folder)) return folder;
    if (folder === dirname(folder)) {
      throw new Error(`no package.json of uwf in ${startFolder} or above: the installation is broken`);
    }
  }
}

function isPackageRoot(folder: string): boolean {
  // Folders without a manifest, or with one that is not JSON, are simply not it.
  const manifest = orElse((): unknown => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), undefined);
  return typeof manifest === 'object' && manifest !== null && 'name' in manifest && manifest.name === 'uwf';
}
