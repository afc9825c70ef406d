import { statSync } from 'node:fs';

/** Tells whether a file was last written more than `ageMs` ago; false if there is none. */
export function isOlderThan(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs;
}

/**
 * Tells whether a file was last written `ageMs` from now or more, before or after: one from the future was written before the
 * clock was set back. False if there is none.
 */
export function isFarFromNow(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > ageMs;
}
