import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { countPacks } from '../../../src/git/native/consolidate-packs.ts';
import { foldInBackground } from '../../../src/git/native/fold-in-background.ts';
import { ObjectBatch } from '../../../src/git/object-batch.ts';
import type { ObjectId } from '../../../src/git/object-id.ts';
import { publish } from '../../../src/git/publish.ts';
import { parseRefName } from '../../../src/git/ref-name.ts';
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
  fold(environment?: Readonly<Record<string, string>>): boolean;
};

async function createScene(): Promise<Scene> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const { location, stateDir } = repository;
  if (location === undefined || stateDir === undefined) throw new Error('the repository is on a disk');
  let head: ObjectId | undefined;
  let number = 0;
  return {
    ...temporary,
    repository,
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
    fold: (environment = env) => foldInBackground(location, stateDir, environment) !== undefined,
  };
}

/** Waits for what happens in another process. */
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries === 600) throw new Error('it has not happened within 30 s');
    await sleep(50);
  }
}

function holderOf({ stateDir }: Scene): number {
  const { holder } = JSON.parse(readFileSync(join(stateDir, 'folding.json'), 'utf8')) as { holder: string };
  return Number.parseInt(holder, 10);
}

/** Nothing happens where it has ended already; then it has folded what there was. */
function signal(pid: number, name: NodeJS.Signals): void {
  if (isRunning(pid)) process.kill(pid, name);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('many small packs become few, and every object can still be read', async () => {
  const scene = await createScene();
  await scene.addPacks(15);
  expect(scene.fold()).toBe(false);
  await scene.addPacks(1);
  expect(scene.fold()).toBe(true);
  await until(() => countPacks(scene.location) < 4 && !isRunning(holderOf(scene)));
  expect(scene.git('rev-list', '--objects', 'refs/threads/test').split('\n')).toHaveLength(16 * 3);
  expectCleanFsck(scene.dir);
});

test('one process folds at a time, and a killed one blocks nothing', async () => {
  const scene = await createScene();
  await scene.addPacks(30);
  expect(scene.fold()).toBe(true);
  const pid = holderOf(scene);
  signal(pid, 'SIGSTOP');
  expect(scene.fold()).toBe(false);
  signal(pid, 'SIGKILL');
  await until(() => !isRunning(pid));
  await scene.addPacks(24);
  expect(scene.fold()).toBe(true);
  await until(() => countPacks(scene.location) < 4);
  expect(scene.git('rev-list', '--count', 'refs/threads/test')).toBe('54');
  expectCleanFsck(scene.dir);
});

test('what others keep is left alone and does not count', async () => {
  const scene = await createScene();
  await scene.addPacks(22);
  const kept = readdirSync(scene.packFolder).filter((name) => name.endsWith('.idx'));
  for (const name of kept.slice(0, 7)) writeFileSync(join(scene.packFolder, name.replace('.idx', '.keep')), '');
  expect(scene.fold()).toBe(false);
  await scene.addPacks(1);
  expect(scene.fold()).toBe(true);
  await until(() => countPacks(scene.location) === 8);
  for (const name of kept.slice(0, 7)) expect(existsSync(join(scene.packFolder, name))).toBe(true);
});

test("nothing is folded beside the user's own git gc", async () => {
  const scene = await createScene();
  await scene.addPacks(24);
  const gcPid = join(scene.location.commonDir, 'gc.pid');
  writeFileSync(gcPid, `${process.pid} here`);
  expect(scene.fold()).toBe(false);
  rmSync(gcPid);
  expect(scene.fold()).toBe(true);
});

test('a folding that came to nothing is not tried again for every step', async () => {
  const scene = await createScene();
  await scene.addPacks(24);
  const noGit = { PATH: '/nonexistent' };
  expect(scene.fold(noGit)).toBe(true);
  await scene.addPacks(1);
  expect(scene.fold(noGit)).toBe(false);
  const before = readFileSync(join(scene.stateDir, 'folding.json'), 'utf8');
  await scene.addPacks(1);
  scene.fold(noGit);
  expect(readFileSync(join(scene.stateDir, 'folding.json'), 'utf8')).toBe(before);
});
