// Prepares `npm test` and `npm run demo`: dependencies and a build. Loads no package that npm must install first.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages } from './install-packages.js';

/** The folder of uwf's package.json. */
export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const minimumNode = [20, 19];
const minimumGit = [2, 20];

function isOlder(version, minimum) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < minimum[0] || (major === minimum[0] && minor < minimum[1]);
}

/** A sentence that names what the machine lacks, or undefined. */
function missingTool() {
  if (isOlder(process.versions.node, minimumNode)) {
    return `uwf needs Node ${minimumNode.join('.')} or later; this is ${process.versions.node} (https://nodejs.org)`;
  }
  const git = spawnSync('git', ['--version'], { encoding: 'utf8' });
  if (git.status !== 0) return 'uwf needs git, and there is none on the PATH (https://git-scm.com)';
  const version = /\d+\.\d+/.exec(git.stdout)?.[0] ?? '0.0';
  return isOlder(version, minimumGit)
    ? `uwf needs git ${minimumGit.join('.')} or later; this is ${version}`
    : undefined;
}

/**
 * Checks Node and git, installs dependencies and builds, each only if needed; progress goes to stderr.
 *
 * @returns whether everything is ready; if not, the reason is on stderr
 */
export async function ensure() {
  const say = (text) => process.stderr.write(`${text}\n`);
  const lack = missingTool();
  if (lack !== undefined) {
    say(lack);
    return false;
  }
  const dependencies = { what: 'dependencies (once; about a minute)', flags: ['--include=dev'] };
  if (installPackages(root, dependencies) === 'failed') return false;
  const { build } = await import('./build.js');
  try {
    await build({ log: (file, size) => say(`built ${file} (${size})`) });
    return true;
  } catch (error) {
    say(`The build failed: ${error.message}`);
    return false;
  }
}

/** Runs a command in uwf's folder with this process's terminal. @returns its exit code; 1 if a signal ended it */
export function runInherited(command, argv) {
  return spawnSync(command, argv, { cwd: root, stdio: 'inherit' }).status ?? 1;
}
