import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  makeFoldersOf,
  removeEmptyFoldersAbove,
  removeEmptyTree,
  syncFolders,
} from '../../../../src/git/stores/disk/ref-folders.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

let root: string;
const at = (path: string): string => join(root, path);
const makeFolder = (path: string): unknown => mkdirSync(at(path), { recursive: true });

beforeEach(() => {
  root = createTemporaryFolder();
  makeFolder('refs/heads');
});

describe('the folders of a ref', () => {
  test('that exist need a sync of the last one only', () => {
    expect(makeFoldersOf(at('refs/heads/main'))).toEqual([at('refs/heads')]);
  });

  test('that are new need a sync of each, up to the one that was there', () => {
    expect(makeFoldersOf(at('refs/heads/a/b/main'))).toEqual([
      at('refs/heads/a/b'),
      at('refs/heads/a'),
      at('refs/heads'),
    ]);
    expect(existsSync(at('refs/heads/a/b'))).toBe(true);
  });

  test('may have been removed by another process before they are synced', () => {
    expect(() => syncFolders([at('refs/gone'), at('refs/heads')])).not.toThrow();
    failFs('openSync', { code: 'EIO' });
    expect(() => syncFolders([at('refs/heads')])).toThrow('EIO');
  });
});

describe('the empty folders above a removed ref', () => {
  test('are removed, but not refs/<first>', () => {
    makeFolder('refs/heads/a/b');
    removeEmptyFoldersAbove(root, 'refs/heads/a/b/main');
    expect(existsSync(at('refs/heads/a'))).toBe(false);
    expect(existsSync(at('refs/heads'))).toBe(true);
  });

  test('are kept from the first one on that is not empty', () => {
    makeFolder('refs/heads/a/b/c');
    writeFileSync(at('refs/heads/a/b/other'), '');
    removeEmptyFoldersAbove(root, 'refs/heads/a/b/c/main');
    expect(existsSync(at('refs/heads/a/b/c'))).toBe(false);
    expect(existsSync(at('refs/heads/a/b/other'))).toBe(true);
  });

  test('may be gone already', () => {
    makeFolder('refs/heads/a');
    removeEmptyFoldersAbove(root, 'refs/heads/a/b/main');
    expect(existsSync(at('refs/heads/a'))).toBe(false);
  });

  test('are an error where the disk fails', () => {
    makeFolder('refs/heads/a');
    failFs('rmdirSync', { code: 'EIO' });
    expect(() => removeEmptyFoldersAbove(root, 'refs/heads/a/main')).toThrow('EIO');
  });
});

describe('a tree of folders', () => {
  test('is removed where it holds only empty folders', () => {
    makeFolder('tree/a/b');
    makeFolder('tree/c');
    expect(removeEmptyTree(at('tree'))).toBe(true);
    expect(existsSync(at('tree'))).toBe(false);
  });

  test('stays where there is a file in it', () => {
    makeFolder('tree/a/b');
    writeFileSync(at('tree/a/file'), '');
    expect(removeEmptyTree(at('tree'))).toBe(false);
    expect(existsSync(at('tree/a/file'))).toBe(true);
  });

  test('that is not there is removed already; a file is none', () => {
    expect(removeEmptyTree(at('none'))).toBe(true);
    writeFileSync(at('file'), '');
    expect(removeEmptyTree(at('file'))).toBe(false);
    expect(existsSync(at('file'))).toBe(true);
  });

  test.each([
    ['ENOENT', true],
    ['ENOTDIR', false],
  ])('may be changed while it is read: %s', (code, isGone) => {
    makeFolder('tree/a');
    failFs('readdirSync', { code });
    expect(removeEmptyTree(at('tree'))).toBe(isGone);
  });

  test('is an error where the disk fails', () => {
    makeFolder('tree/a');
    failFs('readdirSync', { code: 'EIO' });
    expect(() => removeEmptyTree(at('tree'))).toThrow('EIO');
  });
});
