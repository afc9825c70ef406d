import { rmSync } from 'node:fs';

const TRIES = 50;
const PAUSE_MS = 100;

/**
 * Removes a folder that children of killed processes may still write to: git goes on with a push, or repacks. Node's own retries
 * (`maxRetries`) remove the folder again, and not what has come into it since.
 */
export function removeFolder(path: string): void {
  for (let left = TRIES; ; left -= 1) {
    try {
      rmSync(path, { recursive: true, force: true });
      return;
    } catch (error) {
      if (left === 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
