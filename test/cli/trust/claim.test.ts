import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FileHasher } from '../../../src/cli/trust/claim.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

/** A folder with a file, a folder with another, and a link around. */
function createFolder(): string {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, 'lib'));
  writeFileSync(join(folder, 'index.js'), 'one');
  writeFileSync(join(folder, 'lib/more.js'), 'two');
  symlinkSync('..', join(folder, 'lib/around'));
  return folder;
}

const digest = (folder: string): string => new FileHasher().hashFolder(folder).sha256;

test.each<[string, (folder: string) => void]>([
  ['the content of a file', (folder) => writeFileSync(join(folder, 'lib/more.js'), 'owt')],
  ['a new file', (folder) => writeFileSync(join(folder, 'lib/new.js'), '')],
  ['a file that is gone', (folder) => rmSync(join(folder, 'index.js'))],
  ['the name of a file', (folder) => execFileSync('mv', ['index.js', 'other.js'], { cwd: folder })],
  ['what a link leads to', (folder) => symlinkSync('/etc/passwd', join(folder, 'link'))],
  [
    'a file behind a link to a folder',
    (folder) => {
      const other = createTemporaryFolder();
      writeFileSync(join(other, 'x.js'), 'x');
      symlinkSync(other, join(folder, 'other'));
    },
  ],
])('a folder has another hash after a change of %s', (_, change) => {
  const folder = createFolder();
  const before = digest(folder);
  expect(digest(folder)).toBe(before);
  change(folder);
  expect(digest(folder)).not.toBe(before);
});

test('what is no regular file has no hash, and is not waited for', () => {
  const folder = createFolder();
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const hasher = new FileHasher();
  for (const path of ['pipe', 'lib', 'missing', 'with\0null'])
    expect(hasher.hashFile(join(folder, path))).toBeUndefined();
  expect(hasher.hashFile('/dev/zero')).toBeUndefined();
});

test('more than a command has time for is refused, in one file or in several', () => {
  const folder = createTemporaryFolder();
  const large = join(folder, 'large');
  writeFileSync(large, '');
  truncateSync(large, 10 * 1024 ** 3);
  expect(() => new FileHasher().hashFile(large)).toThrow('more than can be looked at');
  truncateSync(large, 200 * 1024 ** 2);
  const hasher = new FileHasher();
  expect(hasher.hashFile(large)).toMatchObject({ bytes: 200 * 1024 ** 2 });
  expect(() => hasher.hashFile(large)).toThrow('more than can be looked at');
});
