import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import { readTree } from '../../../src/git/stores/read.ts';
import {
  addListCommit,
  type ArchivedThread,
  ArchiveList,
  editList,
  type ListChanges,
  MAX_LINES,
  MAX_PLACE,
} from '../../../src/thread/archive-list.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { archivedLines } from './archived-lines.ts';

const all = archivedLines(1001);
/** A thread that began at quite another time. */
const apart: ArchivedThread = { ...all[0]!, id: parseThreadId(`7${all[0]!.id.slice(1)}`) };

const adding = (lines: readonly ArchivedThread[]): ListChanges => new Map(lines.map((line) => [line.id, line]));
const removing = (lines: readonly ArchivedThread[]): ListChanges => new Map(lines.map(({ id }) => [id, null]));

async function edit(repository: MapRepository, tree: ObjectId | undefined, changes: ListChanges): Promise<ObjectId> {
  const batch = new ObjectBatch();
  const edited = await editList(repository.objects, batch, tree, changes);
  await repository.objects.write(batch.objects);
  return edited;
}

async function linesOf(repository: MapRepository, tree: ObjectId): Promise<ArchivedThread[]> {
  const batch = new ObjectBatch();
  const commit = addListCommit(batch, tree);
  await repository.objects.write(batch.objects);
  const lines: ArchivedThread[] = [];
  for await (const line of new ArchiveList(repository.objects, commit).startingWith('')) lines.push(line);
  return lines;
}

const emptyTree = new ObjectBatch().addTree([]);

describe('a list that is edited', () => {
  test('is the same in whatever order its lines come', async () => {
    const repository = createMapRepository();
    const lines = [...all.slice(0, 5), apart];
    const tree = await edit(repository, undefined, adding(lines));
    expect(await linesOf(repository, tree)).toEqual(lines);
    expect(await edit(repository, undefined, adding(lines.toReversed()))).toBe(tree);
    const third = await edit(repository, undefined, adding([lines[2]!]));
    const others = await edit(repository, third, adding([lines[5]!, lines[4]!, lines[3]!]));
    expect(await edit(repository, others, adding([lines[1]!, lines[0]!]))).toBe(tree);
  });

  test('has the new line of a thread in place of the old one', async () => {
    const repository = createMapRepository();
    const tree = await edit(repository, undefined, adding(all.slice(0, 3)));
    const moved = { ...all[1]!, place: 'https://x/a.git' };
    expect(await linesOf(repository, await edit(repository, tree, adding([moved])))).toEqual([all[0], moved, all[2]]);
  });

  test('can be read again with as many of the longest places as a file takes', async () => {
    const repository = createMapRepository();
    const lines = all.slice(0, MAX_LINES).map((line) => ({ ...line, place: 'x'.repeat(MAX_PLACE) }));
    expect(await linesOf(repository, await edit(repository, undefined, adding(lines)))).toEqual(lines);
  });

  test('is without the lines that are taken out, and empty without any', async () => {
    const repository = createMapRepository();
    const tree = await edit(repository, undefined, adding([...all.slice(0, 3), apart]));
    const fewer = await edit(repository, tree, removing([all[1]!, all[5]!]));
    expect(await linesOf(repository, fewer)).toEqual([all[0], all[2], apart]);
    const alone = await edit(repository, fewer, removing([all[0]!, all[2]!]));
    expect(alone).toBe(await edit(repository, undefined, adding([apart])));
    expect(await edit(repository, alone, removing([apart]))).toBe(emptyTree);
    expect(await edit(repository, undefined, removing([apart]))).toBe(emptyTree);
  });

  test('has a folder in place of a file with more than a thousand lines, as far as that goes', async () => {
    const repository = createMapRepository();
    const modesOf = async (tree: ObjectId): Promise<string[][]> =>
      (await readTree(repository.objects, tree)).map(({ name, mode }) => [name, mode]);
    const full = await edit(repository, undefined, adding(all.slice(0, 1000)));
    expect(await modesOf(full)).toEqual([['0', '100644']]);
    const split = await edit(repository, full, adding([all[1000]!, apart]));
    expect(await modesOf(split)).toEqual([
      ['0', '040000'],
      ['7', '100644'],
    ]);
    expect(await linesOf(repository, split)).toEqual([...all, apart]);
    const fewer = await edit(repository, split, removing([all[3]!]));
    expect(await linesOf(repository, fewer)).toEqual([...all.filter((line) => line !== all[3]), apart]);
    expect(await edit(repository, split, removing(all))).toBe(await edit(repository, undefined, adding([apart])));
  });

  test('is read and written on the paths of the changed lines alone', async () => {
    const repository = createMapRepository();
    const tree = await edit(repository, undefined, adding([...all.slice(0, 3), apart]));
    const spied = watched(repository);
    const batch = new ObjectBatch();
    await editList(spied.repository.objects, batch, tree, removing([apart]));
    const [root, file] = [1, 1];
    expect(spied.read).toHaveLength(root + file);
    expect(batch.objects).toHaveLength(root);
  });
});
