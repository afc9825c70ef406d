import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for one benchmark, in another one or in the machine's for temporary files, and how it goes away. */
export function temporaryFolder(parent = tmpdir()) {
  const path = mkdtempSync(join(parent, 'uwf-bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
