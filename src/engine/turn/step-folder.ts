import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryTo } from '../../or-else.ts';
import { makeFolders } from '../../git/system/make-folders.ts';
import { storing } from '../../git/format/object-errors.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { share } from '../../git/system/sharing.ts';

/** How much space is held for what the turn comes to. */
const RESERVED_BYTES = 1024 * 1024;

/**
 * Makes the folder of a step, and removes what a killed process left of an earlier one of the thread.
 *
 * It holds the role's schema as `schema.json`, for what reports a result (`uwf mcp`), and `reserved`: space on the disk
 * that becomes free with the folder, for the reply to be stored.
 * @throws {StorageFull} / {StorageReadOnly}
 */
export function makeStepFolder({ stateDir }: Repository, threadId: string, schema: JsonObject): string {
  const parent = stateDir === undefined ? tmpdir() : join(stateDir, 'steps');
  return storing(parent, () => {
    makeFolders(parent);
    // Under the lease no other process works on this thread.
    for (const name of readdirSync(parent)) {
      if (name.startsWith(`${threadId}-`)) rmSync(join(parent, name), { recursive: true, force: true });
    }
    const folder = mkdtempSync(join(parent, `${threadId}-`));
    share(folder);
    return fillFolder(folder, schema);
  });
}

function fillFolder(folder: string, schema: JsonObject): string {
  try {
    const file = join(folder, 'schema.json');
    writeFileSync(file, JSON.stringify(schema));
    share(file);
    // Not synced: file systems account for what is written at once. Random, because some of them compress.
    writeFileSync(join(folder, 'reserved'), randomBytes(RESERVED_BYTES));
    return folder;
  } catch (error) {
    removeStepFolder(folder);
    throw error;
  }
}

/** Removes the folder of a step. Errors are ignored: the turn's result is worth more. */
export function removeStepFolder(path: string): void {
  // What is left, the thread's next turn removes.
  tryTo(() => rmSync(path, { recursive: true, force: true }));
}
