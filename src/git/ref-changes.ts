import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A file system's clock moves in steps: what was written within one of them of a look may not be seen in the next. */
const CLOCK_STEP_MS = 50;

/**
 * Watches whether refs of a repository change, without reading any.
 *
 * Looks at the times of `packed-refs` and of the folders that loose refs are renamed into, which every change of a ref
 * touches. Says yes once too often rather than once too seldom.
 */
export class RefChanges {
  readonly #commonDir: string;
  readonly #prefixes: readonly string[];
  #stamp = '';

  /** @param prefixes whole folders, such as `refs/threads/` */
  constructor(commonDir: string, prefixes: readonly string[]) {
    this.#commonDir = commonDir;
    this.#prefixes = prefixes;
  }

  /** Tells whether something may have changed since the last time this was asked; the first time it has. */
  haveChanged(): boolean {
    const times = new Map([['packed-refs', timeOf(join(this.#commonDir, 'packed-refs'))]]);
    for (const prefix of this.#prefixes) this.#addTimes(prefix.replace(/\/$/, ''), times);
    const newestMs = Math.max(...times.values());
    const stamp = JSON.stringify([...times]);
    const hasChanged = stamp !== this.#stamp;
    this.#stamp = Date.now() - newestMs < CLOCK_STEP_MS ? '' : stamp;
    return hasChanged;
  }

  #addTimes(folder: string, times: Map<string, number>): void {
    const path = join(this.#commonDir, folder);
    const timeMs = timeOf(path);
    if (timeMs === 0) return;
    times.set(folder, timeMs);
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) this.#addTimes(`${folder}/${entry.name}`, times);
    }
  }
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
