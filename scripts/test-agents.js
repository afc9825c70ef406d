#!/usr/bin/env node
// `npm run test:agents`: tests other projects' coding agents (opencode, the Gemini CLI, Claude Code by its bridge, Qwen Code)
// against a scripted model server. They are installed, pinned, in test/agents alone.
// Arguments go to vitest: `npm run test:agents -- -t gemini`.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ensure, root, runInherited } from './ensure.js';
import { installPackages } from './install-packages.js';

const folder = path.join(root, 'test', 'agents');

/** Installs the packages of the lockfile. Of their scripts only opencode's runs, which finds its binary. */
function installAgents() {
  const done = installPackages(folder, {
    what: 'the coding agents of others into test/agents (once; about 1.2 GB)',
    flags: ['--ignore-scripts'],
  });
  if (done !== 'installed') return done === 'there';
  const argv = [path.join('node_modules', 'opencode-ai', 'postinstall.mjs')];
  return spawnSync(process.execPath, argv, { cwd: folder, stdio: ['ignore', 2, 2] }).status === 0;
}

const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
const config = path.join('test', 'agents', 'vitest.config.ts');
const isReady = (await ensure()) && installAgents();
process.exitCode = isReady
  ? runInherited(process.execPath, [vitest, 'run', '--config', config, ...process.argv.slice(2)])
  : 1;
