import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';

const folder = path.resolve(import.meta.dirname, '..');

function modifiedAt(name) {
  return statSync(path.join(folder, name), { throwIfNoEntry: false })?.mtimeMs;
}

/** Whether what uwf is compared with is there, as bench/package-lock.json says. */
export function hasPeers() {
  const installed = modifiedAt('node_modules/.package-lock.json');
  return installed !== undefined && installed >= (modifiedAt('package-lock.json') ?? 0);
}

/**
 * Installs into bench/ alone what uwf is compared with. SQLite is compiled where no binary fits: about two minutes.
 *
 * @returns {boolean} whether it is there now; what npm said went to stderr
 */
export function installPeers() {
  if (hasPeers()) return true;
  process.stderr.write("Installing LangGraph's SQLite checkpointer into bench/ (once; about two minutes) …\n");
  const options = { cwd: folder, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' };
  return spawnSync('npm', ['ci', '--no-audit', '--no-fund'], options).status === 0;
}

/** Loads a package that {@link installPeers} has installed. */
export async function importPeer(name) {
  const require = createRequire(path.join(folder, 'package.json'));
  return import(pathToFileURL(require.resolve(name)).href);
}
