import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The size of a file, or of all files below a folder. Files that disappear meanwhile count as empty. */
export function sizeOf(path: string): number {
  try {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return stats.size;
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
  } catch {
    return 0;
  }
}
