import { statSync } from 'node:fs';

/** Tells whether a file was last written so long ago; false for one that is not there. */
export function isOlderThan(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs;
}
