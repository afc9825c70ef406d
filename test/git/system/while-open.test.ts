import { fstatSync, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { whileOpen } from '../../../src/git/system/files.ts';

function openNewFile(): number {
  const path = join(mkdtempSync(join(tmpdir(), 'uwf-while-open-')), 'file');
  writeFileSync(path, 'text');
  return openSync(path, 'r');
}

test('a file is open while it is worked with, and closed afterwards', () => {
  const descriptor = openNewFile();
  expect(whileOpen(descriptor, (open) => fstatSync(open).size)).toBe(4);
  expect(() => fstatSync(descriptor)).toThrow('EBADF');
});

test('a file is closed where the work fails, whose error comes through', () => {
  const descriptor = openNewFile();
  const fail = (): never => {
    throw new Error('no');
  };
  expect(() => whileOpen(descriptor, fail)).toThrow('no');
  expect(() => fstatSync(descriptor)).toThrow('EBADF');
});
