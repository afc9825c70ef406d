import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { installPackages } from '../../scripts/install-packages.js';

const folder = path.resolve(import.meta.dirname, '..');

/**
 * Installs into bench/ alone what uwf is compared with. SQLite is compiled where no binary fits: about two minutes.
 *
 * @returns {boolean} whether it is there now; what npm said went to stderr
 */
export function installPeers() {
  const what = "LangGraph's SQLite checkpointer into bench/ (once; about two minutes)";
  return installPackages(folder, { what }) !== 'failed';
}

/** Loads a package that {@link installPeers} has installed. */
export async function importPeer(name) {
  const require = createRequire(path.join(folder, 'package.json'));
  return import(pathToFileURL(require.resolve(name)).href);
}
