import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rememberRemoved } from '../../../src/thread/remove-thread.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const thread = parseThreadId('01KTWEWZ760000000000000000');

test('what this machine removed is not forgotten in silence where the disk refuses', () => {
  const stateDir = createTemporaryFolder();
  mkdirSync(join(stateDir, 'removed'));
  for (const folder of [stateDir, join(stateDir, 'removed')]) chmodSync(folder, 0o555);
  // root is refused nothing.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(64_001);
  try {
    expect(() => rememberRemoved({ stateDir }, thread, [])).toThrow(/cannot be written/);
  } finally {
    if (isRoot) process.seteuid?.(0);
    // Otherwise the folder could not be removed.
    chmodSync(stateDir, 0o755);
  }
});
