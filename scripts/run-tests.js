import path from 'node:path';
import { ensure, root, runInherited } from './ensure.js';

/**
 * Installs packages and builds if needed, then runs vitest with a configuration and this process's arguments.
 *
 * @returns the exit code
 */
export async function runTests(config) {
  if (!(await ensure())) return 1;
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return runInherited(process.execPath, [vitest, 'run', '--config', config, ...process.argv.slice(2)]);
}
