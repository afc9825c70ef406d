import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readFileInside } from '../../../src/git/repository/git-directory.ts';
import { FileRefused, readRegularFile } from '../../../src/git/system/files.ts';
import { createTemporaryFolder, runGit } from '../../helpers/temporary-repository.ts';

const maxBytes = 1000;
let outside: string;
let top: string;

const write = (path: string, text = 'words'): void => {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), text);
};
const link = (path: string, target: string): void => symlinkSync(target, join(top, path));
const read = (path: string): string => readFileInside(top, join(top, path), maxBytes).toString('utf8');

beforeEach(() => {
  outside = createTemporaryFolder();
  top = join(outside, 'top');
  mkdirSync(top);
  mkdirSync(join(outside, 'folder'));
  writeFileSync(join(outside, 'folder', 'secret'), 'a secret');
});

test('a file is read, also through links that stay inside and where the top is a link itself', () => {
  write('deep/in/file', 'words');
  link('link', 'deep/in/file');
  link('folder', 'deep/in');
  symlinkSync(top, join(outside, 'alias'));
  for (const path of ['deep/in/file', 'link', 'folder/file', 'deep/../link']) expect(read(path)).toBe('words');
  expect(readFileInside(join(outside, 'alias'), join(outside, 'alias/link'), maxBytes).toString()).toBe('words');
  write('largest', 'x'.repeat(maxBytes));
  expect(read('largest')).toHaveLength(maxBytes);
});

test.each([
  ['a link to a file', 'lies outside', () => link('way', join(outside, 'folder/secret'))],
  ['a link to a link', 'lies outside', () => (link('way', 'second'), link('second', '../folder/secret'))],
  ['a device', 'lies outside', () => link('way', '/dev/zero')],
  ['a process', 'lies outside', () => link('way', '/proc/self/environ')],
  ['a pipe', 'is not a regular file', () => execFileSync('mkfifo', [join(top, 'way')])],
  ['a link to nothing', 'is a link', () => link('way', 'nothing')],
  ['a file of a byte too many', 'has more than 1000 bytes', () => write('way', 'x'.repeat(maxBytes + 1))],
  ['a file with a hole of a TiB', 'has more than', () => (write('way'), truncateSync(join(top, 'way'), 2 ** 40))],
])('%s is refused', (_name, reason, make) => {
  make();
  expect(() => read('way')).toThrow(FileRefused);
  expect(() => read('way')).toThrow(reason);
  expect(() => read('way')).not.toThrow('a secret');
});

test('what is said of a place outside does not tell whether something is there', () => {
  link('out', outside);
  const said = ['out/folder/secret', 'out/folder/none', 'out/none/none', '../folder/secret', '../none'].map((path) => {
    try {
      return read(path);
    } catch (error) {
      return String(error).replace(join(top, path), '');
    }
  });
  expect(new Set(said)).toEqual(new Set([expect.stringContaining('lies outside')]));
});

describe('nothing of a git folder is read', () => {
  const git = (...args: string[]): string => runGit(top, args);

  test.each([
    ['the own one', '.git/config'],
    ['one whose name another file system takes for it', '.GIT/config'],
    ['the file of a linked work tree', 'linked/.git'],
    ['an embedded repository', 'embedded/.git/config'],
    ['a bare repository', 'bare/config'],
    ['a folder of a bare repository', 'bare/info/exclude'],
    ['one that a link leads into', 'way/config'],
  ])('%s', (_name, path) => {
    git('init', '-q', '.');
    git('commit', '-q', '--allow-empty', '-m', 'x');
    git('worktree', 'add', '-q', 'linked');
    git('init', '-q', 'embedded');
    git('init', '-q', '--bare', 'bare');
    link('way', 'embedded/.git');
    write('.GIT/config');
    expect(() => read(path)).toThrow('lies in a git folder');
  });
});

test('a file that is missing is missing, and a folder is a folder', () => {
  expect(() => read('.')).toThrow('EISDIR');
  expect(() => read('none/none')).toThrow('ENOENT');
});

test('who exchanges folders for links meanwhile gets nothing from outside', async () => {
  write('folder/secret', 'words');
  write('kept/secret', 'words');
  symlinkSync(join(outside, 'folder'), join(top, 'lead-out'));
  // Renames do not need a moment in which nothing is there.
  const swap = `const { renameSync, symlinkSync } = require('node:fs');
    process.chdir(${JSON.stringify(top)});
    process.stdout.write('begun');
    for (;;) { renameSync('folder', 'away'); renameSync('lead-out', 'folder'); renameSync('folder', 'lead-out'); renameSync('away', 'folder'); }`;
  const swapper = spawn(process.execPath, ['-e', swap], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void swapper.kill('SIGKILL'));
  await once(swapper.stdout, 'data');
  const outcomes = new Set<string>();
  for (let count = 0; count < 20_000; count += 1) {
    try {
      outcomes.add(read('folder/secret'));
    } catch (error) {
      outcomes.add(error instanceof FileRefused ? 'refused' : 'failed');
    }
  }
  expect(outcomes).toContain('words');
  expect(outcomes).not.toContain('a secret');
});

test('a regular file anywhere is read as far as it is bounded', () => {
  link('secret', '../folder/secret');
  expect(readRegularFile(join(top, 'secret'), maxBytes).toString()).toBe('a secret');
  expect(() => readRegularFile('/dev/zero', maxBytes)).toThrow('is not a regular file');
  expect(() => readRegularFile('/proc/self/maps', 10)).toThrow('has more than 10 bytes');
});
