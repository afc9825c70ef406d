import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';

test('the demo finds the commit, and its last line names the document that says how to write a workflow', () => {
  const { status, stdout } = spawnSync(process.execPath, [join(packageRoot(), 'scripts/demo.js')], {
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  const [, document = ''] = /(\S+\.md) of uwf says how to write one$/.exec(stdout.trimEnd()) ?? [];
  expect(readFileSync(join(packageRoot(), document), 'utf8')).toMatch(/^# .*workflow[^]*moderator/i);
});
