import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatIdentity, identityOf, ownIdentity } from '../../../src/git/system/process-identity.ts';
import { countPacks, repack, repackInBackground, type StartedRepacking } from '../../../src/git/maintenance/repack.ts';
import { writeDerivedFile } from '../../../src/git/system/files.ts';
import { ObjectBatch, publish } from '../../../src/git/stores/publish.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { Repository, RepositoryLocation } from '../../../src/git/repository.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

type Scene = TemporaryRepository & {
  repository: Repository;
  location: RepositoryLocation;
  packs(): number;
  stateDir: string;
  packFolder: string;
  /** Adds packs, each of one commit on `refs/threads/test`. */
  addPacks(count: number): Promise<void>;
  fold(environment?: Readonly<Record<string, string>>): StartedRepacking | undefined;
  /** Folds, and waits until that has ended. */
  foldToTheEnd(environment?: Readonly<Record<string, string>>): Promise<void>;
  /** What is recorded of the last folding. */
  record: string;
};

async function createScene(options: Parameters<typeof createTemporaryRepository>[0] = {}): Promise<Scene> {
  const temporary = createTemporaryRepository(options);
  const repository = await temporary.open();
  const { location, stateDir } = repository;
  if (location === undefined || stateDir === undefined) throw new Error('the repository is on a disk');
  let head: ObjectId | undefined;
  let number = 0;
  const fold: Scene['fold'] = (environment = env) => repackInBackground(repository, environment);
  return {
    ...temporary,
    repository,
    record: join(stateDir, 'folding.json'),
    location,
    packs: () => countPacks({ location, env }),
    stateDir,
    packFolder: join(location.commonDir, 'objects', 'pack'),
    async addPacks(count) {
      for (const end = number + count; number < end; number += 1) {
        const batch = new ObjectBatch(repository.objects.format);
        const who = { ...repository.committer, atMs: 1_795_262_400_000 + number };
        const tree = batch.addTree([{ mode: '100644', name: 'a.md', id: batch.addBlob(`text ${number}\n`) }]);
        const parents = head === undefined ? [] : [head];
        const commit = batch.addCommit({ tree, parents, author: who, committer: who, message: `${number}\n` });
        const name = parseRefName('refs/threads/test');
        await publish(repository, batch, [{ name, expected: head ?? null, value: commit }]);
        head = commit;
      }
    },
    fold,
    async foldToTheEnd(environment) {
      const folding = fold(environment);
      expect(folding).toBeDefined();
      await folding?.settled(60_000);
    },
  };
}

test('many small packs become few, and every object can still be read', async () => {
  const scene = await createScene();
  await scene.addPacks(9);
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(1);
  expect(scene.git('rev-list', '--objects', 'refs/threads/test').split('\n')).toHaveLength(10 * 3);
  expectCleanFsck(scene.dir);
});

test('what was folded is left alone until there is about as much again', async () => {
  const scene = await createScene();
  await scene.addPacks(20);
  await scene.foldToTheEnd();
  const [folded] = readdirSync(scene.packFolder).filter((name) => name.endsWith('.pack'));
  await scene.addPacks(9);
  await scene.foldToTheEnd();
  expect(readdirSync(scene.packFolder)).toContain(folded);
  expect(scene.packs()).toBe(2);
  await scene.addPacks(9);
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(1);
});

test('one folding runs at a time, and that of a process that was killed blocks nothing', async () => {
  const scene = await createScene();
  await scene.addPacks(30);
  const running = scene.fold();
  expect(running).toBeDefined();
  expect(scene.fold()).toBeUndefined();
  await running?.settled(60_000);
  await scene.addPacks(30);
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const holder = formatIdentity(identityOf(child.pid ?? 0));
  writeDerivedFile(scene.record, 'folding 1', JSON.stringify({ holder, atMs: Date.now() }));
  expect(scene.fold()).toBeUndefined();
  child.kill('SIGKILL');
  await once(child, 'exit');
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(1);
  expect(scene.git('rev-list', '--count', 'refs/threads/test')).toBe('60');
  expectCleanFsck(scene.dir);
});

test('one that has run for hours is not believed', async () => {
  const scene = await createScene();
  await scene.addPacks(16);
  const atMs = Date.now() - 2 * 60 * 60 * 1000;
  writeDerivedFile(scene.record, 'folding 1', JSON.stringify({ holder: formatIdentity(ownIdentity()), atMs }));
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(1);
});

test('what others keep is left alone and does not count', async () => {
  const scene = await createScene();
  await scene.addPacks(16);
  const kept = readdirSync(scene.packFolder).filter((name) => name.endsWith('.idx'));
  for (const name of kept.slice(0, 7)) writeFileSync(join(scene.packFolder, name.replace('.idx', '.keep')), '');
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(8);
  for (const name of kept.slice(0, 7)) expect(existsSync(join(scene.packFolder, name))).toBe(true);
});

test('packs of a multi-pack-index are left alone and do not count', async () => {
  const scene = await createScene();
  await scene.addPacks(20);
  scene.git('multi-pack-index', 'write', '--bitmap');
  const index = readdirSync(scene.packFolder).filter((name) => name.startsWith('multi-pack-index'));
  await scene.addPacks(9);
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(21);
  expect(readdirSync(scene.packFolder)).toEqual(expect.arrayContaining(index));
  scene.git('multi-pack-index', 'verify');
  expectCleanFsck(scene.dir);
});

test.each([
  ['repack.writeBitmaps', 'true'],
  ['repack.packKeptObjects', 'true'],
  ['repack.useDeltaIslands', 'true'],
  ['pack.packSizeLimit', '1m'],
  ['pack.indexVersion', '1'],
  ['gc.cruftPacks', 'true'],
  ['core.multiPackIndex', 'false'],
])('with %s=%s git repacks too, and says nothing', async (name, value) => {
  const scene = await createScene();
  scene.git('config', name, value);
  await scene.addPacks(12);
  const kept = readdirSync(scene.packFolder).find((file) => file.endsWith('.idx'));
  writeFileSync(join(scene.packFolder, `${kept?.slice(0, -4)}.keep`), '');
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(2);
  await scene.addPacks(3);
  expect(await repack({ location: scene.location, env })).toEqual({ before: 5, after: 3 });
  expect(readdirSync(scene.packFolder)).toContain(kept);
  expectCleanFsck(scene.dir);
});

test.each(['sha1', 'sha256'] as const)('what nothing leads to is kept, in a repository of %s', async (objectFormat) => {
  const scene = await createScene({ objectFormat });
  await scene.addPacks(12);
  writeFileSync(join(scene.dir, 'loose'), 'loose\n');
  scene.git('hash-object', '-w', 'loose');
  scene.git('update-ref', '-d', 'refs/threads/test');
  const objects = (): string => scene.git('cat-file', '--batch-all-objects', '--batch-check');
  const before = objects();
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(1);
  expect(objects()).toBe(before);
});

test('a repacked pack is synced where git is told to sync nothing', async () => {
  const scene = await createScene();
  scene.git('config', 'core.fsync', 'none');
  await scene.addPacks(12);
  const trace = join(scene.dir, 'trace');
  await scene.foldToTheEnd({ ...env, GIT_TRACE2_EVENT: trace });
  const syncs = [...readFileSync(trace, 'utf8').matchAll(/"key":"fsync\/hardware-flush","value":"([0-9]+)"/g)];
  // The pack and its index at least.
  expect(Math.max(0, ...syncs.map(([, count]) => Number(count)))).toBeGreaterThanOrEqual(2);
});

test('packs of an alternate stay, and what is here needs it no more than before', async () => {
  const lender = await createScene();
  await lender.addPacks(6);
  const scene = await createScene();
  writeFileSync(join(scene.dir, '.git/objects/info/alternates'), `${join(lender.dir, '.git/objects')}\n`);
  // The same objects once more: git would not write them again.
  await scene.addPacks(12);
  await scene.foldToTheEnd();
  expect(lender.packs()).toBe(6);
  expect(scene.packs()).toBe(1);
  rmSync(join(scene.dir, '.git/objects/info/alternates'));
  expectCleanFsck(scene.dir);
});

test('in a partial clone, whose packs git cannot join, nothing is done', async () => {
  const scene = await createScene();
  await scene.addPacks(12);
  const [one] = readdirSync(scene.packFolder).filter((name) => name.endsWith('.idx'));
  writeFileSync(join(scene.packFolder, `${one?.slice(0, -4)}.promisor`), '');
  expect(scene.fold()).toBeUndefined();
  expect(await repack({ location: scene.location, env })).toEqual({ before: 12, after: 12 });
});

test('nothing is removed when an object is damaged, and uwf gc says what git says', async () => {
  const scene = await createScene();
  await scene.addPacks(12);
  const [one = ''] = readdirSync(scene.packFolder).filter((name) => name.endsWith('.pack'));
  const path = join(scene.packFolder, one);
  const bytes = readFileSync(path);
  bytes.fill(0xff, 14, 40);
  chmodSync(path, 0o644);
  writeFileSync(path, bytes);
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(12);
  await expect(repack({ location: scene.location, env })).rejects.toThrow('git repack failed');
  expect(scene.packs()).toBe(12);
});

test('git goes on after uwf has ended, and is not started again meanwhile', async () => {
  const scene = await createScene();
  await scene.addPacks(12);
  scene.fold();
  const record = readFileSync(scene.record, 'utf8');
  expect(record).not.toContain(formatIdentity(ownIdentity()));
});

test("nothing is folded beside the user's own git gc", async () => {
  const scene = await createScene();
  await scene.addPacks(24);
  const gcPid = join(scene.location.commonDir, 'gc.pid');
  writeFileSync(gcPid, `${process.pid} here`);
  expect(scene.fold()).toBeUndefined();
  rmSync(gcPid);
  await scene.foldToTheEnd();
});

test('a folding that came to nothing is not tried again for every step', async () => {
  const scene = await createScene();
  await scene.addPacks(24);
  const noGit = { PATH: '/nonexistent' };
  await scene.foldToTheEnd(noGit);
  expect(scene.packs()).toBe(24);
  await scene.addPacks(9);
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(scene.packs()).toBe(1);
});
