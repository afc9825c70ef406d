import { statSync } from 'node:fs';

/** Tells whether a file was last written more than `ageMs` ago; false if there is none. */
export function isOlderThan(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs;
}
