import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findOwnStats, findStats } from '../../../src/git/system/files.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test('a file has stats; a link has its own, and those of what it leads to', () => {
  const dir = createTemporaryFolder();
  mkdirSync(join(dir, 'folder'));
  symlinkSync('folder', join(dir, 'link'));
  expect(findStats(join(dir, 'link'))?.isDirectory()).toBe(true);
  expect(findOwnStats(join(dir, 'link'))?.isSymbolicLink()).toBe(true);
});

test('what is not there has none, also below a file; another failure is an error', () => {
  const dir = createTemporaryFolder();
  writeFileSync(join(dir, 'file'), '');
  for (const path of ['none', 'none/below', 'file/below', 'file/far/below']) {
    expect(findStats(join(dir, path))).toBeUndefined();
    expect(findOwnStats(join(dir, path))).toBeUndefined();
  }
  symlinkSync('loop', join(dir, 'loop'));
  expect(() => findStats(join(dir, 'loop'))).toThrow('ELOOP');
  expect(() => findOwnStats(join(dir, 'loop/below'))).toThrow('ELOOP');
});
