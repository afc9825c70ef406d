import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A folder for one benchmark, in another one or in the machine's for temporary files, and how it goes away: with the process
 * at the latest.
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
