#!/usr/bin/env node
// `npm run test:agents`: drives coding agents of others, opencode and the Gemini CLI, against a scripted server of models.
// They are installed, pinned, in test/agents alone. Arguments go to vitest: `npm run test:agents -- -t gemini`.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { ensure, root, runInherited } from './ensure.js';

const folder = path.join(root, 'test', 'agents');

function modifiedAt(...segments) {
  return statSync(path.join(folder, ...segments), { throwIfNoEntry: false })?.mtimeMs;
}

function run(command, argv) {
  return (
    spawnSync(command, argv, { cwd: folder, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' }).status === 0
  );
}

/** Installs what the lockfile says. Of all scripts of these packages only opencode's is run, which finds its binary. */
function installAgents() {
  const installed = modifiedAt('node_modules', '.package-lock.json');
  if (installed !== undefined && installed >= (modifiedAt('package-lock.json') ?? 0)) return true;
  process.stderr.write('Installing opencode and the Gemini CLI into test/agents (once; about 450 MB) …\n');
  return (
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']) &&
    run(process.execPath, [path.join('node_modules', 'opencode-ai', 'postinstall.mjs')])
  );
}

const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
const config = path.join('test', 'agents', 'vitest.config.ts');
const isReady = (await ensure()) && installAgents();
process.exitCode = isReady
  ? runInherited(process.execPath, [vitest, 'run', '--config', config, ...process.argv.slice(2)])
  : 1;
