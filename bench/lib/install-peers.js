import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { installPackages } from '../../scripts/install-packages.js';

const folder = path.resolve(import.meta.dirname, '..');

/**
 * Installs the packages that uwf is compared with, in bench/ alone. Without a fitting binary, SQLite is compiled: about two
 * minutes.
 *
 * @returns {boolean} whether they are installed now; npm's output goes to stderr
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
