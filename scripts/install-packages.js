// Installs packages by a lockfile. Loads no package that npm must install first.
import { spawnSync } from 'node:child_process';
import { lstatSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Installs the packages of a folder's lockfile, unless they are installed; progress goes to stderr.
 *
 * A `node_modules` that is a symbolic link is not changed: npm would empty it first, and other folders may use it.
 *
 * @param {string} folder of the package.json
 * @param {object} options
 * @param {string} options.what names the packages in the progress message: `dependencies (once; about a minute)`
 * @param {string[]} [options.flags] more flags for `npm ci`
 * @returns {'there' | 'installed' | 'failed'} after a failure, the reason is on stderr
 */
export function installPackages(folder, { what, flags = [] }) {
  if (isInstalled(folder)) return 'there';
  const say = (text) => process.stderr.write(`${text}\n`);
  const modules = path.join(folder, 'node_modules');
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) {
    say(`${modules} is a symbolic link and lacks something; npm would empty what it leads to. Remove the link first.`);
    return 'failed';
  }
  say(`Installing ${what} …`);
  if (runNpm(folder, ['ci', '--no-audit', '--no-fund', ...flags])) return 'installed';
  say(`npm could not install them; the reason is above. Try 'npm ci' by hand in ${folder}.`);
  return 'failed';
}

/** npm writes its own lockfile last: an installation that was interrupted has none. */
function isInstalled(folder) {
  const modifiedAt = (name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.mtimeMs;
  const installed = modifiedAt('node_modules/.package-lock.json');
  return installed !== undefined && installed >= (modifiedAt('package-lock.json') ?? 0);
}

function runNpm(cwd, argv) {
  // Under `npm run` this is npm's own file; otherwise npm is found on the PATH, for which Windows needs a shell.
  const npm = process.env.npm_execpath;
  /** @type {import('node:child_process').SpawnSyncOptions} */
  const options = { cwd, stdio: ['ignore', 2, 2] };
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...argv], options)
    : spawnSync('npm', argv, { ...options, shell: process.platform === 'win32' });
  return result.status === 0;
}
