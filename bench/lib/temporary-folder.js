import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a folder for one benchmark, in a given folder or in the one for temporary files, and returns how to remove it. The
 * end of the process removes it at the latest.
 */
export function temporaryFolder(parent = tmpdir()) {
  const path = mkdtempSync(join(parent, 'uwf-bench-'));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', remove);
  return { path, remove };
}
