import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { PackFiles } from '../../../../src/git/stores/disk/pack-files.ts';
import { PackFolder } from '../../../../src/git/stores/disk/pack-folder.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

let dir: string;
let packs: PackFolder;
let files: PackFiles;

beforeEach(() => {
  const objects = createTemporaryFolder();
  dir = join(objects, 'pack');
  mkdirSync(dir);
  files = new PackFiles();
  packs = new PackFolder(objects, files);
});

function write(...names: string[]): void {
  for (const name of names) writeFileSync(join(dir, name), '');
}

const names = (): string[] => Array.from(packs.packs, ({ path }) => basename(path)).toSorted();

/** Sets the time of the folder so far back that the folder counts as settled. */
function settle(): void {
  utimesSync(dir, 1_795_262_400, 1_795_262_400);
}

describe('a folder of packs', () => {
  test('has the packs that have an index, and no others', () => {
    write('pack-a.idx', 'pack-a.pack', 'pack-long.idx', 'pack-long.pack', 'pack-no-index.pack', 'pack-no-pack.idx');
    write('tmp_idx_b', 'tmp_pack_b', 'pack-c.idx.new', 'pack-c.pack', 'pack-.idx', 'pack-.pack');
    write('x-pack-d.idx', 'x-pack-d.pack', 'pack-d.pack');
    expect(packs.refresh()).toBe(true);
    expect(names()).toEqual(['pack-a.pack', 'pack-long.pack']);
  });

  test('keeps its packs as long as they are there, and closes those that are gone', () => {
    write('pack-a.idx', 'pack-a.pack', 'pack-b.idx', 'pack-b.pack');
    packs.refresh();
    const [before] = packs.packs;
    expect(packs.refresh()).toBe(false);
    expect([...packs.packs][0]).toBe(before);
    const forget = vi.spyOn(files, 'forget');
    rmSync(join(dir, 'pack-b.idx'));
    write('pack-c.idx', 'pack-c.pack');
    expect(packs.refresh()).toBe(true);
    expect(names()).toEqual(['pack-a.pack', 'pack-c.pack']);
    expect(forget.mock.calls.flat().toSorted()).toEqual([join(dir, 'pack-b.idx'), join(dir, 'pack-b.pack')]);
    rmSync(join(dir, 'pack-c.pack'));
    expect(packs.refresh()).toBe(true);
    expect(names()).toEqual(['pack-a.pack']);
  });

  test('is empty where there is none, or a file in its place, or where it is removed just then', () => {
    write('pack-a.idx', 'pack-a.pack');
    packs.refresh();
    failFs('readdirSync', { code: 'ENOENT', times: 1 });
    expect([packs.refresh(), names()]).toEqual([true, []]);
    failFs('readdirSync', { code: 'EIO', times: 1 });
    expect(() => packs.refresh()).toThrow('EIO');
    expect([packs.refresh(), names()]).toEqual([true, ['pack-a.pack']]);
    rmSync(dir, { recursive: true });
    expect([packs.refresh(), names()]).toEqual([true, []]);
    writeFileSync(join(dir, '..', 'file'), '');
    expect(new PackFolder(join(dir, '..', 'file'), files).refresh()).toBe(false);
  });
});

describe('a folder that has not changed for a while', () => {
  let reads: number;
  const refresh = (): [changed: boolean, reads: number] => {
    reads = 0;
    const changed = packs.refresh();
    return [changed, reads];
  };

  beforeEach(() => {
    failFs('readdirSync', { code: 'never', where: () => ((reads += 1), false) });
    write('pack-a.idx', 'pack-a.pack');
  });

  test('is read once; one that has just changed may change again in the same tick of its clock', () => {
    // Far in the future, so that it is recent however long the test takes.
    utimesSync(dir, Date.now() / 1000 + 1000, Date.now() / 1000 + 1000);
    expect([refresh(), refresh()]).toEqual([
      [true, 1],
      [false, 1],
    ]);
    settle();
    expect([refresh(), refresh(), refresh()]).toEqual([
      [false, 1],
      [false, 0],
      [false, 0],
    ]);
    write('pack-b.idx', 'pack-b.pack');
    expect(refresh()).toEqual([true, 1]);
  });

  test('is read again after one of its packs was missing', () => {
    write('pack-b.idx', 'pack-b.pack');
    settle();
    refresh();
    const pack = [...packs.packs].find(({ path }) => path.endsWith('pack-a.pack'));
    const forget = vi.spyOn(files, 'forget');
    if (pack !== undefined) packs.drop(pack);
    expect(names()).toEqual(['pack-b.pack']);
    expect(forget).toHaveBeenCalledTimes(2);
    expect(refresh()).toEqual([true, 1]);
    expect(names()).toEqual(['pack-a.pack', 'pack-b.pack']);
  });
});
