import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolders } from '../../../src/git/system/files.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test('returns the topmost folder that was made', () => {
  const top = createTemporaryFolder();
  expect(makeFolders(join(top, 'a', 'b', 'c'))).toBe(join(top, 'a'));
  expect(makeFolders(join(top, 'a', 'd'))).toBe(join(top, 'a', 'd'));
  expect(makeFolders(join(top, 'a', 'd'))).toBeUndefined();
  symlinkSync(join(top, 'a'), join(top, 'link'));
  expect(makeFolders(join(top, 'link', 'e'))).toBe(join(top, 'link', 'e'));
  expect(existsSync(join(top, 'a', 'e'))).toBe(true);
});

test('ends with the error of the system where no folder can be made', () => {
  const top = createTemporaryFolder();
  writeFileSync(join(top, 'file'), '');
  mkdirSync(join(top, 'folder'));
  symlinkSync(join(top, 'nowhere', 'deep'), join(top, 'dangling'));
  expect(() => makeFolders(join(top, 'file'))).toThrow(/EEXIST/);
  expect(() => makeFolders(join(top, 'file', 'a', 'b'))).toThrow(/ENOTDIR/);
  expect(() => makeFolders(join(top, 'dangling'))).toThrow(/EEXIST/);
  expect(() => makeFolders(join(top, 'dangling', 'a'))).toThrow(/ENOENT|EEXIST/);
});

// Node's own recursive mkdir does not end there.
test.runIf(existsSync('/proc/self'))('ends with the error of the system below /proc', () => {
  expect(() => makeFolders('/proc/none/state/uwf')).toThrow(/ENOENT/);
});
