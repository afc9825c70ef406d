import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { type CommitFiles, readFiles } from '../../src/verify/read-checked.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { store, storeTree } from './forge-commit.ts';
import { hashOf, idOf } from './commit/plain-commits.ts';

type Line = [mode: string, name: string, id: ObjectId];

const FILE = '100644';
const FOLDER = '40000';

/** A repository, and what makes trees and indexes in it. */
function making(): {
  repository: MapRepository;
  blob: ObjectId;
  tree: (...lines: Line[]) => ObjectId;
  index: (...lines: [number, ObjectId, string][]) => ObjectId;
} {
  const repository = createMapRepository();
  return {
    repository,
    blob: store(repository, 'blob', 'x'),
    tree: (...lines) => storeTree(repository, lines),
    index: (...lines) =>
      store(repository, 'blob', lines.map(([hash, id, path]) => `${hashOf(hash)} ${id} ${path}\n`).join('')),
  };
}

async function read(repository: MapRepository, tree: ObjectId): Promise<CommitFiles & { faults: string[] }> {
  const faults: string[] = [];
  const files = await readFiles(repository, tree, (path, what) => void faults.push(`${path}: ${what}`));
  return { ...files, faults };
}

describe('the files of a tree', () => {
  test('are those that the index of each part lists, with their paths from the root', async () => {
    const { repository, blob, tree, index } = making();
    const roles = tree([FILE, 'writer.json', blob]);
    const workflow = tree([FILE, 'index', index([2, blob, 'roles/writer.json'])], [FOLDER, 'roles', roles]);
    const pinned = tree([FILE, idOf(1), blob]);
    const root = tree(
      [FILE, 'index', index([1, blob, 'start.json'])],
      [FOLDER, 'pinned', pinned],
      [FILE, 'start.json', blob],
      [FOLDER, 'workflow', workflow],
    );
    expect(await read(repository, root)).toEqual({
      faults: [],
      index: [
        { hash: hashOf(1), oid: blob, path: 'start.json' },
        { hash: hashOf(2), oid: blob, path: 'workflow/roles/writer.json' },
      ],
      pinned: [{ mode: FILE, name: idOf(1), id: blob }],
    });
  });

  test.each<[string, (made: ReturnType<typeof making>) => Line[], string[], number[]]>([
    ['no index', ({ blob }) => [[FILE, 'a.md', blob]], ['index: the tree has no index'], []],
    [
      'an index of a part alone',
      ({ tree, index }) => [[FOLDER, 'workflow', tree([FILE, 'index', index()])]],
      ['index: the tree has no index'],
      [],
    ],
    [
      'a file that the index does not list',
      ({ blob, index }) => [
        [FILE, 'a.md', blob],
        [FILE, 'index', index()],
      ],
      ['a.md: the index does not list it'],
      [],
    ],
    [
      'a file that it does not have',
      ({ blob, index }) => [[FILE, 'index', index([1, blob, 'a.md'])]],
      ['a.md: the index lists it, and the tree does not have it'],
      [],
    ],
    [
      'another object than the index says',
      ({ blob, index }) => [
        [FILE, 'a.md', blob],
        [FILE, 'index', index([1, idOf(1), 'a.md'])],
      ],
      [`a.md: the index says object ${idOf(1)}, the tree has c1b0730e0133447badcfd47fd144e254807b06e1`],
      [1],
    ],
    [
      'a program',
      ({ blob, index }) => [
        ['100755', 'a.md', blob],
        [FILE, 'index', index([1, blob, 'a.md'])],
      ],
      ['a.md: it has the mode 100755, not 100644'],
      [1],
    ],
    [
      'a file in place of the pins',
      ({ blob, index }) => [
        [FILE, 'index', index()],
        [FILE, 'pinned', blob],
      ],
      ['pinned: the index does not list it'],
      [],
    ],
    [
      'no pins in their folder',
      ({ tree, index }) => [
        [FILE, 'index', index()],
        [FOLDER, 'pinned', tree()],
      ],
      ['pinned: it is an empty folder'],
      [],
    ],
    [
      'an empty folder',
      ({ tree, index }) => [
        [FOLDER, 'a', tree()],
        [FILE, 'index', index()],
      ],
      ['a/: it is an empty folder'],
      [],
    ],
    ['nothing', () => [], ['null: it is an empty folder', 'index: the tree has no index'], []],
    [
      'a folder that is not there',
      ({ index }) => [
        [FOLDER, 'a', idOf(1)],
        [FILE, 'index', index()],
      ],
      [`a/: object ${idOf(1)} is not in the repository`],
      [],
    ],
    [
      'pins that are not there',
      ({ index }) => [
        [FILE, 'index', index()],
        [FOLDER, 'pinned', idOf(1)],
      ],
      [`pinned: object ${idOf(1)} is not in the repository`, 'pinned: it is an empty folder'],
      [],
    ],
  ])('are wrong in a tree with %s', async (_, make, faults, hashes) => {
    const made = making();
    const files = await read(made.repository, made.tree(...make(made)));
    expect(files.faults).toEqual(faults);
    expect(files.index.map(({ hash }) => hash)).toEqual(hashes.map(hashOf));
  });

  test('are not known where the index cannot be read', async () => {
    const { repository, blob, tree } = making();
    const { faults, index } = await read(repository, tree([FILE, 'a.md', blob], [FILE, 'index', blob]));
    expect(faults).toEqual([expect.stringMatching(/^index: /)]);
    expect(index).toEqual([]);
  });

  test('are not known where the tree is not there', async () => {
    const { repository } = making();
    expect((await read(repository, idOf(1))).faults).toEqual([
      `null: object ${idOf(1)} is not in the repository`,
      'index: the tree has no index',
    ]);
  });
});

describe('a tree is read only so far', () => {
  /** A file in so many folders, each in another. */
  async function deep(folders: number): Promise<string[]> {
    const { repository, blob, tree, index } = making();
    let inner = tree([FILE, 'a', blob]);
    for (let at = 1; at < folders; at++) inner = tree([FOLDER, 'f', inner]);
    const path = `${'f/'.repeat(folders)}a`;
    return (await read(repository, tree([FOLDER, 'f', inner], [FILE, 'index', index([1, blob, path])]))).faults;
  }

  test('as sixteen folders', async () => {
    expect(await deep(15)).toEqual([]);
    const path = 'f/'.repeat(16);
    expect(await deep(16)).toEqual([
      `${path}: it lies deeper than 16 folders`,
      `${path}a: the index lists it, and the tree does not have it`,
    ]);
  });

  /** A tree of folders of 999 files each, and more files; and how often an object was read. */
  async function wide(folders: number, files: number): Promise<{ faults: string[]; reads: number }> {
    const { repository, blob, tree } = making();
    const names = (count: number): string[] => Array.from({ length: count }, (_, at) => String(10_000 + at));
    const folder = tree(...names(999).map((name): Line => [FILE, name, blob]));
    const lines = names(folders).map((name): Line => [FOLDER, `d${name}`, folder]);
    const root = tree(...lines, ...names(files).map((name): Line => [FILE, `e${name}`, blob]));
    let reads = 0;
    const { objects } = repository;
    const counted: typeof objects.read = (id, options) => {
      reads += 1;
      return objects.read(id, options);
    };
    const { faults } = await read({ ...repository, objects: { ...objects, read: counted } }, root);
    return { faults, reads };
  }

  test('as a hundred thousand files', async () => {
    expect(await wide(100, 0)).toEqual({ faults: ['index: the tree has no index'], reads: 101 });
    const faults = ['null: its tree has more than 100000 files', 'index: the tree has no index'];
    expect(await wide(100, 1)).toEqual({ faults, reads: 101 });
    expect(await wide(150, 0)).toEqual({ faults, reads: 101 });
  });
});
