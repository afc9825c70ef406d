import { readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../or-else.ts';
import { isNotThere } from '../format/object-errors.ts';
import { findStats } from '../system/find-stats.ts';

/** The clock of a file system moves in steps: a change within one step of a look may not change the time. */
export const CLOCK_STEP_MS = 50;

/**
 * Watches whether refs of a repository change, without reading any.
 *
 * Compares the times of `packed-refs` and of the folders of loose refs, one of which every change of a ref updates. May
 * report a change where there is none, but misses none.
 * @param prefixes whole folders, such as `refs/threads/`
 * @returns a function that tells whether refs may have changed since its last call; true for the first call
 */
export function watchRefs(commonDir: string, prefixes: readonly string[]): () => boolean {
  let last: string | undefined = '';
  return () => {
    const stamp = refTimes(commonDir, prefixes);
    const hasChanged = stamp === undefined || stamp !== last;
    last = stamp;
    return hasChanged;
  };
}

/**
 * The times of `packed-refs` and of the folders of loose refs, as a text: equal texts mean that no ref has changed.
 * `undefined` right after a change, when another one might not show.
 */
export function refTimes(commonDir: string, prefixes: readonly string[]): string | undefined {
  const times = new Map([['packed-refs', timeOf(join(commonDir, 'packed-refs'))]]);
  for (const prefix of prefixes) addTimes(commonDir, prefix.replace(/\/$/, ''), times);
  return Date.now() - Math.max(...times.values()) < CLOCK_STEP_MS ? undefined : JSON.stringify([...times]);
}

function addTimes(commonDir: string, folder: string, times: Map<string, number>): void {
  const path = join(commonDir, folder);
  const timeMs = timeOf(path);
  if (timeMs === 0) return;
  times.set(folder, timeMs);
  // git and uwf remove empty folders at any moment. The time of the folder above shows that.
  const list = (): Dirent[] => readdirSync(path, { withFileTypes: true });
  for (const entry of orElse(list, [], isNotThere)) {
    if (entry.isDirectory()) addTimes(commonDir, `${folder}/${entry.name}`, times);
  }
}

function timeOf(path: string): number {
  return findStats(path)?.mtimeMs ?? 0;
}
