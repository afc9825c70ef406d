import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolders } from '../git/make-folders.ts';
import { asStorageError } from '../git/object-errors.ts';
import type { Repository } from '../git/repository.ts';

/**
 * Makes the empty folder of a step, and removes what a killed process left of an earlier one of the thread.
 * @throws {StorageFull} / {StorageReadOnly}
 */
export function makeStepFolder({ stateDir }: Repository, threadId: string): string {
  const parent = stateDir === undefined ? tmpdir() : join(stateDir, 'steps');
  try {
    makeFolders(parent);
    // Under the lease nobody else works on this thread.
    for (const name of readdirSync(parent)) {
      if (name.startsWith(`${threadId}-`)) rmSync(join(parent, name), { recursive: true, force: true });
    }
    return mkdtempSync(join(parent, `${threadId}-`));
  } catch (error) {
    throw asStorageError(error, parent);
  }
}

/** Removes the folder of a step, as far as the disk lets it: what the turn came to is worth more. */
export function removeStepFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The thread's next turn removes it.
  }
}
