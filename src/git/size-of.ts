import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** How many bytes a file has, or the files in a folder at any depth; what goes meanwhile is not counted. */
export function sizeOf(path: string): number {
  try {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return stats.size;
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
  } catch {
    return 0;
  }
}
