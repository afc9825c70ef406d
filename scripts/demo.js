#!/usr/bin/env node
// `npm run demo`: builds a repository with a bug in its history, lets uwf find the commit that introduced it, and shows the
// run in uwf and in git. Needs only Node and git: no model, no network.
//
//   npm run demo              removes the repository at the end
//   npm run demo -- --team    several agents at once: phases that are coded and merged, and a review
//   npm run demo -- --keep    keeps the repository
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findRegression } from './demo/find-regression.js';
import { demoEnvironment, say, sayWhereToLook } from './demo/stage.js';
import { buildAsTeam } from './demo/team.js';
import { ensure } from './ensure.js';

const { values } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, team: { type: 'boolean', default: false } },
});

if (await ensure()) {
  // Ctrl-C reaches the running command; this process only cleans up.
  process.on('SIGINT', () => {});
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-demo-'));
  try {
    const demonstrate = values.team ? buildAsTeam : findRegression;
    const rows = demonstrate({ cwd: folder, env: demoEnvironment(folder) });
    sayWhereToLook(folder, rows, { isKept: values.keep, options: values.team ? '--team ' : '' });
  } catch (error) {
    process.stderr.write(`\nThe demo failed: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    if (values.keep) say(`\nKept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
} else {
  process.exitCode = 1;
}
