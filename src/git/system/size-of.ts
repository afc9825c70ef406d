import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../or-else.ts';

/** The size of a file, or of all files below a folder. Files that disappear meanwhile count as empty. */
export function sizeOf(path: string): number {
  return orElse(() => {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return stats.size;
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
  }, 0);
}
