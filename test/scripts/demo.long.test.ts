import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';

const run = (...options: string[]): SpawnSyncReturns<string> =>
  spawnSync(process.execPath, [join(packageRoot(), 'scripts/demo.js'), ...options], { encoding: 'utf8' });

test('the demo of a team builds in phases, resolves their conflict, and reviews', () => {
  const { status, stdout, stderr } = run('--team');
  expect({ status, failed: /The demo failed: .*/.exec(stderr)?.[0] }).toEqual({ status: 0, failed: undefined });
  for (const key of ['csv', 'json', 'words']) expect(stderr).toContain(`branch ${key} ended`);
  expect(stderr).toContain('build conflict: build: conflict, 3 of 3 branches');
  expect(stderr).toContain('branch style cancelled');
  expect(stdout).toContain('Built by three, merged, tested, accepted and reviewed: text, csv and json.');
});

test('the demo finds the commit, and its last line names the document that says how to write a workflow', () => {
  const { status, stdout } = run();
  expect(status).toBe(0);
  const [, document = ''] = /(\S+\.md) of uwf says how to write one$/.exec(stdout.trimEnd()) ?? [];
  expect(readFileSync(join(packageRoot(), document), 'utf8')).toMatch(/^# .*workflow[^]*moderator/i);
});
