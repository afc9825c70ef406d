import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { PackFiles } from '../../../../src/git/stores/disk/pack-files.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

let path: string;
let files: PackFiles;
let closed: number;

beforeEach(() => {
  path = join(createTemporaryFolder(), 'pack');
  writeFileSync(path, 'one');
  files = new PackFiles();
  closed = 0;
  failFs('closeSync', { code: 'never', where: () => ((closed += 1), false) });
  return () => files.closeAll();
});

test('a file is read and measured while one descriptor is open, until it is forgotten', () => {
  expect([files.reader(path)(1, 10).toString(), files.sizeOf(path)]).toEqual(['ne', 3]);
  expect(closed).toBe(0);
  files.forget(path);
  files.forget(path);
  expect(closed).toBe(1);
  expect(files.sizeOf(path)).toBe(3);
});

test('pages are kept until all is closed', () => {
  const read = files.reader(path);
  read(0, 3);
  writeFileSync(path, 'two');
  closed = 0;
  expect(read(0, 3).toString()).toBe('one');
  files.closeAll();
  expect(closed).toBe(1);
  expect(read(0, 3).toString()).toBe('two');
});

test('64 files are open at most', () => {
  const paths = Array.from({ length: 65 }, (_, number) => `${path}-${number}`);
  for (const each of paths) writeFileSync(each, '');
  closed = 0;
  for (const each of paths) files.sizeOf(each);
  expect(closed).toBe(1);
});
