import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file that only this machine reads and that can be done without, as far as the disk takes it.
 *
 * It is replaced as a whole, and not synced. All writers share one temporary name, so that what a killed one left is
 * written over; should two meet there, a reader may find half a file for a moment and must cope with that.
 */
export function tryToWriteLocalFile(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(temporary, text);
    renameSync(temporary, path);
  } catch {
    // A full disk, or a repository that may only be read.
    tryToRemove(temporary);
  }
}

function tryToRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Then it has to stay.
  }
}
