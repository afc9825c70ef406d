import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatIdentity, identityOf, ownIdentity } from '../../../src/git/system/process-identity.ts';
import { countPacks } from '../../../src/git/maintenance/foldable-packs.ts';
import { foldInBackground, type StartedFolding } from '../../../src/git/maintenance/fold-in-background.ts';
import { writeDerivedFile } from '../../../src/git/system/derived-file.ts';
import { ObjectBatch } from '../../../src/git/stores/object-batch.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { publish } from '../../../src/git/stores/publish.ts';
import { parseRefName } from '../../../src/git/format/ref-name.ts';
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
  stateDir: string;
  packFolder: string;
  /** Adds packs, each of one commit on `refs/threads/test`. */
  addPacks(count: number): Promise<void>;
  fold(environment?: Readonly<Record<string, string>>): StartedFolding | undefined;
  /** Folds, and waits until that has ended. */
  foldToTheEnd(environment?: Readonly<Record<string, string>>): Promise<void>;
  /** What is recorded of the last folding. */
  record: string;
};

async function createScene(): Promise<Scene> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const { location, stateDir } = repository;
  if (location === undefined || stateDir === undefined) throw new Error('the repository is on a disk');
  let head: ObjectId | undefined;
  let number = 0;
  const fold: Scene['fold'] = (environment = env) => foldInBackground(repository, environment);
  return {
    ...temporary,
    repository,
    record: join(stateDir, 'folding.json'),
    location,
    stateDir,
    packFolder: join(location.commonDir, 'objects', 'pack'),
    async addPacks(count) {
      for (const end = number + count; number < end; number += 1) {
        const batch = new ObjectBatch();
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
  expect(countPacks(scene.location)).toBe(1);
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
  expect(countPacks(scene.location)).toBe(2);
  await scene.addPacks(9);
  await scene.foldToTheEnd();
  expect(countPacks(scene.location)).toBe(1);
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
  expect(countPacks(scene.location)).toBe(1);
  expect(scene.git('rev-list', '--count', 'refs/threads/test')).toBe('60');
  expectCleanFsck(scene.dir);
});

test('one that has run for hours is not believed', async () => {
  const scene = await createScene();
  await scene.addPacks(16);
  const atMs = Date.now() - 2 * 60 * 60 * 1000;
  writeDerivedFile(scene.record, 'folding 1', JSON.stringify({ holder: formatIdentity(ownIdentity()), atMs }));
  await scene.foldToTheEnd();
  expect(countPacks(scene.location)).toBe(1);
});

test('what others keep is left alone and does not count', async () => {
  const scene = await createScene();
  await scene.addPacks(16);
  const kept = readdirSync(scene.packFolder).filter((name) => name.endsWith('.idx'));
  for (const name of kept.slice(0, 7)) writeFileSync(join(scene.packFolder, name.replace('.idx', '.keep')), '');
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(countPacks(scene.location)).toBe(8);
  for (const name of kept.slice(0, 7)) expect(existsSync(join(scene.packFolder, name))).toBe(true);
});

test('what a multi-pack-index speaks for is left alone and does not count', async () => {
  const scene = await createScene();
  await scene.addPacks(20);
  scene.git('multi-pack-index', 'write');
  await scene.addPacks(9);
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(countPacks(scene.location)).toBe(21);
  scene.git('multi-pack-index', 'verify');
  expectCleanFsck(scene.dir);
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
  expect(countPacks(scene.location)).toBe(24);
  await scene.addPacks(9);
  expect(scene.fold()).toBeUndefined();
  await scene.addPacks(1);
  await scene.foldToTheEnd();
  expect(countPacks(scene.location)).toBe(1);
});
