import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { consolidatePacks } from '../../../src/git/maintenance/consolidate-packs.ts';
import {
  countPacks,
  listSmallPacks,
  packFolderOf,
  readSmallPacks,
  smallestPacks,
} from '../../../src/git/maintenance/foldable-packs.ts';
import { joinPacks } from '../../../src/git/maintenance/join-packs.ts';
import { orderObjects } from '../../../src/git/maintenance/order-objects.ts';
import { ObjectBatch } from '../../../src/git/stores/object-batch.ts';
import type { ObjectFormat, ObjectId } from '../../../src/git/format/object-id.ts';
import { publish } from '../../../src/git/stores/publish.ts';
import { parseRefName } from '../../../src/git/format/ref-name.ts';
import type { RepositoryLocation } from '../../../src/git/repository.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

type Scene = TemporaryRepository & { location: RepositoryLocation; folder: string };

/** A line that no other number has, and that does not compress. */
function line(number: number): string {
  return `${createHash('sha256').update(`${number}`).digest('hex')}\n`;
}

type Files = (number: number) => [name: string, content: string][];

/** A text that from one commit to the next loses a line at its beginning and gets one at its end. */
const toldAgain: Files = (number) => {
  const lines = Array.from({ length: 300 }, (_, at) => line(number + at));
  // About as long each time, but not growing: sizes tell nothing of the order.
  return [['told.md', `${'-'.repeat((number * 37) % 100)}\n${lines.join('')}`]];
};

/** A pack for each commit; each has files, and one below that no other has. */
async function createScene(
  commits: number,
  { objectFormat = 'sha1', files = toldAgain }: { objectFormat?: ObjectFormat; files?: Files } = {},
): Promise<Scene> {
  const temporary = createTemporaryRepository({ objectFormat });
  const repository = await temporary.open();
  const { location } = repository;
  if (location === undefined) throw new Error('the repository is on a disk');
  let head: ObjectId | undefined;
  for (let number = 0; number < commits; number += 1) {
    const batch = new ObjectBatch(objectFormat);
    const below = batch.addTree([{ mode: '100644', name: 'said.md', id: batch.addBlob(line(number)) }]);
    const tree = batch.addTree([
      { mode: '040000', name: 'below', id: below },
      ...files(number).map(([name, content]) => ({ mode: '100644' as const, name, id: batch.addBlob(content) })),
    ]);
    const who = { ...repository.committer, atMs: 1_795_262_400_000 };
    const parents = head === undefined ? [] : [head];
    const commit = batch.addCommit({ tree, parents, author: who, committer: who, message: `${number}\n` });
    await publish(repository, batch, [
      { name: parseRefName('refs/threads/test'), expected: head ?? null, value: commit },
    ]);
    head = commit;
  }
  await repository.close();
  return { ...temporary, location, folder: packFolderOf(location) };
}

async function joinAll({ location, folder }: Scene): Promise<void> {
  await joinPacks({ location, env }, readSmallPacks(folder, listSmallPacks(folder, Infinity)));
}

function packedBytes({ folder }: Scene): number {
  const packs = readdirSync(folder).filter((name) => name.endsWith('.pack'));
  return packs.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

test.each(['sha1', 'sha256'] as const)('one pack has all that was in many, in a repository of %s', async (format) => {
  const scene = await createScene(20, { objectFormat: format });
  const before = scene.git('rev-list', '--objects', '--all');
  await joinAll(scene);
  expect(countPacks(scene.location)).toBe(1);
  expect(scene.git('rev-list', '--objects', '--all')).toBe(before);
  expectCleanFsck(scene.dir);
});

test('what was said takes up no room of its own where the next was told it', async () => {
  const said = (number: number): string => Array.from({ length: 20 }, (_, at) => line(number * 20 + at)).join('');
  const scene = await createScene(60, {
    files: (number) => [
      ['output.md', said(number)],
      ['prompt.md', `Go on after this:\n${said(number - 1)}`],
    ],
  });
  await joinAll(scene);
  // 1,300 bytes that compress to 750 are said in each.
  expect(packedBytes(scene)).toBeLessThan(60 * 1_250);
  expectCleanFsck(scene.dir);
});

test('of texts that are told again and again only what is new takes up room', async () => {
  const scene = await createScene(100);
  await joinAll(scene);
  const joined = packedBytes(scene);
  // One whole text takes some 11,000 bytes; what all other commits bring are ids and 65 new bytes.
  expect(joined).toBeLessThan(100 * 600 + 11_000);
  // git compares by size, and misses many neighbours.
  scene.git('repack', '-adFq', '--depth=250');
  expect(joined).toBeLessThan((packedBytes(scene) * 2) / 3);
});

test('what was joined before is joined again as well as at once', async () => {
  const scene = await createScene(60);
  const packs = readSmallPacks(scene.folder, listSmallPacks(scene.folder, Infinity));
  for (let at = 0; at < 60; at += 15) await joinPacks({ location: scene.location, env }, packs.slice(at, at + 15));
  expect(countPacks(scene.location)).toBe(4);
  await joinAll(scene);
  const inSteps = packedBytes(scene);
  const atOnce = await createScene(60);
  await joinAll(atOnce);
  expect(inSteps).toBe(packedBytes(atOnce));
});

test('what nothing leads to is kept', async () => {
  const scene = await createScene(3);
  scene.git('update-ref', '-d', 'refs/threads/test');
  const objects = (): string => scene.git('cat-file', '--batch-all-objects', '--batch-check');
  const before = objects();
  await joinAll(scene);
  expect(countPacks(scene.location)).toBe(1);
  expect(objects()).toBe(before);
});

test('a pack that somebody begins to keep meanwhile stays', async () => {
  const scene = await createScene(4);
  const packs = readSmallPacks(scene.folder, listSmallPacks(scene.folder, Infinity));
  writeFileSync(join(scene.folder, `${packs[0]?.name}.keep`), '');
  await joinPacks({ location: scene.location, env }, packs);
  expect(countPacks(scene.location)).toBe(2);
  expect(readdirSync(scene.folder)).toContain(`${packs[0]?.name}.idx`);
});

test('packs that a multi-pack-index names meanwhile stay', async () => {
  const scene = await createScene(4);
  const packs = readSmallPacks(scene.folder, listSmallPacks(scene.folder, Infinity));
  scene.git('multi-pack-index', 'write');
  await joinPacks({ location: scene.location, env }, packs);
  expect(countPacks(scene.location)).toBe(5);
  scene.git('multi-pack-index', 'verify');
});

test('a multi-pack-index that goes while it is looked for names no packs', async () => {
  const scene = await createScene(2);
  symlinkSync('gone', join(scene.folder, 'multi-pack-index'));
  expect(listSmallPacks(scene.folder, Infinity)).toHaveLength(2);
});

test('packs are joined where git is told to write indexes of the first version', async () => {
  const scene = await createScene(4);
  scene.git('config', 'pack.indexVersion', '1');
  await joinAll(scene);
  expect(countPacks(scene.location)).toBe(1);
  expectCleanFsck(scene.dir);
});

test('a joined pack is synced where git is told to sync nothing', async () => {
  const scene = await createScene(4);
  scene.git('config', 'core.fsync', 'none');
  const trace = join(scene.dir, 'trace');
  const packs = readSmallPacks(scene.folder, listSmallPacks(scene.folder, Infinity));
  await joinPacks({ location: scene.location, env: { ...env, GIT_TRACE2_EVENT: trace } }, packs);
  const syncs = [...readFileSync(trace, 'utf8').matchAll(/"key":"fsync\/hardware-flush","value":"([0-9]+)"/g)];
  // The pack and its index at least.
  expect(Math.max(0, ...syncs.map(([, count]) => Number(count)))).toBeGreaterThanOrEqual(2);
});

test('of many packs the smallest are joined, as many as there is room for', () => {
  const packs = [9, 2, 5, 3].map((bytes) => ({ name: `pack-${bytes}`, bytes }));
  expect(smallestPacks(packs, 10).map(({ bytes }) => bytes)).toEqual([2, 3, 5]);
});

test.each([0, 1000, Infinity])(
  'nothing is left out of an order for which %d bytes are looked at',
  async (mostBytes) => {
    const scene = await createScene(5);
    const ids = new Set<string>(
      readSmallPacks(scene.folder, listSmallPacks(scene.folder, Infinity)).flatMap((pack) => pack.ids),
    );
    const ordered = await orderObjects({ location: scene.location, env }, ids, mostBytes);
    expect(ordered.toSorted()).toEqual([...ids].toSorted());
  },
);

test('nothing is removed when an object is not to be found', async () => {
  const scene = await createScene(4);
  const packs = readSmallPacks(scene.folder, listSmallPacks(scene.folder, Infinity));
  // An id of this kind: forty digits.
  const missing = { name: 'pack-none', bytes: 0, ids: [('0'.repeat(39) + '1') as ObjectId] };
  await expect(joinPacks({ location: scene.location, env }, [...packs, missing])).rejects.toThrow(
    'git pack-objects failed',
  );
  expect(countPacks(scene.location)).toBe(4);
  expectCleanFsck(scene.dir);
});

test("uwf gc folds the packs that uwf made, and leaves the user's as they are, with their multi-pack-index", async () => {
  const scene = await createScene(3);
  for (let number = 0; number < 3; number += 1) {
    writeFileSync(join(scene.dir, 'file'), randomBytes((number + 1) * 100_000));
    scene.git('add', '.');
    scene.git('commit', '--quiet', '-m', `${number}`);
    scene.git('repack', '--quiet', '-d', 'HEAD');
  }
  const own = new Set(listSmallPacks(scene.folder, Infinity).map(({ name }) => name));
  expect(own.size).toBe(3);
  scene.git('multi-pack-index', 'write', '--no-progress');
  // git names all packs in it: uwf's steps that come later are beside it.
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(scene.folder).map((name) => [name, readFileSync(join(scene.folder, name)).toString('base64')]),
    );
  const indexed = files();
  await expect(consolidatePacks({ location: scene.location, env })).resolves.toEqual({ before: 6, after: 6 });
  expect(files()).toEqual(indexed);
  rmSync(join(scene.folder, 'multi-pack-index'));
  const users = Object.entries(files()).filter(([name]) => !own.has(name.replace(/\.\w+$/, '')));
  await expect(consolidatePacks({ location: scene.location, env })).resolves.toEqual({ before: 6, after: 4 });
  expect(files()).toMatchObject(Object.fromEntries(users));
  expectCleanFsck(scene.dir);
});

test('a pack that inflates to much is folded in bounded memory', async () => {
  const scene = await createScene(2, { files: (number) => [['zeros', `${number}`.repeat(64 * 1024 * 1024)]] });
  const packs = readSmallPacks(scene.folder, listSmallPacks(scene.folder, 8 * 1024 * 1024));
  expect(packs).toHaveLength(2);
  await joinPacks({ location: scene.location, env, maxDataBytes: 100 * 1024 * 1024 }, packs);
  expect(countPacks(scene.location)).toBe(1);
  expectCleanFsck(scene.dir);
});
