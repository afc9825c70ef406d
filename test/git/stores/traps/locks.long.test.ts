import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import type { DiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { formatIdentity, ownIdentity } from '../../../../src/git/system/process-identity.ts';
import type { ProcessIdentity } from '../../../../src/git/system/process-identity.ts';
import { RefLocked } from '../../../../src/git/format/ref-errors.ts';
import { RefMoved } from '../../../../src/git/ref-store.ts';
import { ref, writeCommits } from '../../../contracts/store-fixture.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

type Scene = TemporaryRepository & {
  gitDir: string;
  locks: string;
  openStores: (lockTimeoutMs?: number) => DiskStores;
  stores: DiskStores;
  a: ObjectId;
  b: ObjectId;
};

const thread = ref('threads/one');

async function createScene(): Promise<Scene> {
  const repository = createTemporaryRepository();
  const gitDir = join(repository.dir, '.git');
  const openStores = (lockTimeoutMs = 150): DiskStores =>
    openDiskStores({ gitDir, commonDir: gitDir, workTree: repository.dir }, { lockTimeoutMs });
  const stores = openStores();
  const [a, b] = await writeCommits(stores.objects, 'a', 'b');
  await stores.refs.update([{ name: thread, expected: null, value: a! }]);
  return { ...repository, gitDir, locks: join(gitDir, 'uwf', 'locks'), openStores, stores, a: a!, b: b! };
}

/** Leaves a lock as a process of uwf does that stops existing while it holds it. */
function leaveLock(scene: Scene, path: string, owner: Partial<ProcessIdentity>, name = encodeURIComponent(path)): void {
  mkdirSync(scene.locks, { recursive: true });
  const record = join(scene.locks, `${formatIdentity({ ...ownIdentity(), ...owner })}@0123456789abcdef@${name}`);
  writeFileSync(record, `${scene.b}\n`);
  linkSync(record, join(scene.gitDir, path));
}

const dead = { startTime: '1' };

describe('a lock that a dead uwf left', () => {
  test.each([
    ['that says what it locks', undefined],
    ['whose name had no room for it', ''],
  ])('on a ref does not stop the next change of it, %s', async (_what, name) => {
    const scene = await createScene();
    leaveLock(scene, `${thread}.lock`, dead, name);
    expect(() => scene.git('update-ref', thread, scene.b)).toThrow(/lock/);
    await scene.stores.refs.update([{ name: thread, expected: scene.a, value: scene.b }]);
    expect(await scene.stores.refs.read(thread)).toBe(scene.b);
    expect(readdirSync(scene.locks)).toEqual([]);
    scene.git('update-ref', thread, scene.a);
    expectCleanFsck(scene.dir);
  });

  test.each([`${thread}.lock`, 'packed-refs.lock'])('%s goes with any change of any other ref', async (path) => {
    const scene = await createScene();
    leaveLock(scene, path, dead);
    await scene.stores.refs.update([{ name: ref('threads/other'), expected: null, value: scene.b }]);
    expect(existsSync(join(scene.gitDir, path))).toBe(false);
    expect(readdirSync(scene.locks)).toEqual([]);
    scene.git('pack-refs', '--all', '--prune');
    scene.git('update-ref', '-d', thread);
  });

  test('is removed by one of many who find it, and of their changes one wins', async () => {
    const scene = await createScene();
    leaveLock(scene, `${thread}.lock`, dead, '');
    const attempts = Array.from({ length: 12 }, () =>
      scene.openStores(10_000).refs.update([{ name: thread, expected: scene.a, value: scene.b }]),
    );
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RefMoved);
    }
    expect(readdirSync(scene.locks)).toEqual([]);
  });

  test('is not the lock that somebody has taken since', async () => {
    const scene = await createScene();
    leaveLock(scene, `${thread}.lock`, dead);
    // Its owner was killed between moving the lock onto the ref and removing the record; then git took the lock.
    renameSync(join(scene.gitDir, `${thread}.lock`), join(scene.gitDir, thread));
    writeFileSync(join(scene.gitDir, `${thread}.lock`), '');
    const attempt = scene.stores.refs.update([{ name: thread, expected: scene.b, value: scene.a }]);
    await expect(attempt).rejects.toThrow(RefLocked);
    expect(existsSync(join(scene.gitDir, `${thread}.lock`))).toBe(true);
    expect(await scene.stores.refs.read(thread)).toBe(scene.b);
    expect(readdirSync(scene.locks)).toEqual([]);
  });
});

describe('a lock that is held', () => {
  test('by git is waited for and never broken; the error names the file', async () => {
    const scene = await createScene();
    const lockPath = join(scene.gitDir, `${thread}.lock`);
    writeFileSync(lockPath, '');
    const attempt = scene.stores.refs.update([{ name: thread, expected: scene.a, value: scene.b }]);
    await expect(attempt).rejects.toMatchObject({
      name: 'RefLocked',
      kind: 'conflict',
      ref: thread,
      lockPath,
      holder: undefined,
    });
    expect(readFileSync(lockPath, 'utf8')).toBe('');
    expect(await scene.stores.refs.read(thread)).toBe(scene.a);
    expect(readdirSync(scene.locks)).toEqual([]);

    const patient = scene.openStores(10_000).refs.update([{ name: thread, expected: scene.a, value: scene.b }]);
    setTimeout(() => unlinkSync(lockPath), 50);
    await patient;
    expect(await scene.stores.refs.read(thread)).toBe(scene.b);
  });

  test.each([
    ['by a living uwf', {}, `process ${process.pid} on this host`],
    [
      'by one on another machine',
      { host: 'elsewhere', bootId: 'ab'.repeat(16), pid: 4711 },
      'process 4711 on elsewhere',
    ],
  ])('%s is waited for, and the error says who it is', async (_what, owner, holder) => {
    const scene = await createScene();
    leaveLock(scene, `${thread}.lock`, owner);
    const attempt = scene.stores.refs.update([{ name: thread, expected: scene.a, value: scene.b }]);
    await expect(attempt).rejects.toMatchObject({ name: 'RefLocked', holder });
    expect(existsSync(join(scene.gitDir, `${thread}.lock`))).toBe(true);
    expect(readdirSync(scene.locks)).toHaveLength(1);
  });

  test.each(['with its record', 'whose record is gone', 'of a file system without hard links'])(
    'by a process of another host lapses after a while, %s',
    async (how) => {
      const scene = await createScene();
      const owner = { host: 'elsewhere', bootId: 'ab'.repeat(16), pid: 4711 };
      const lock = join(scene.gitDir, `${thread}.lock`);
      leaveLock(scene, `${thread}.lock`, owner);
      const [name = ''] = readdirSync(scene.locks);
      writeFileSync(lock, `${name}\n`);
      if (how !== 'with its record') {
        unlinkSync(join(scene.locks, name));
        if (how !== 'whose record is gone') writeFileSync(join(scene.locks, name), `${name}\n`);
      }
      const change = { name: thread, expected: scene.a, value: scene.b };
      await expect(scene.stores.refs.update([change])).rejects.toThrow(RefLocked);
      for (const path of [lock, ...readdirSync(scene.locks).map((file) => join(scene.locks, file))]) {
        utimesSync(path, 0, 0);
      }
      const attempts = Array.from({ length: 8 }, () => scene.openStores(10_000).refs.update([change]));
      const outcomes = await Promise.allSettled(attempts);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(readdirSync(scene.locks)).toEqual([]);
      expect(existsSync(lock)).toBe(false);
    },
  );

  test('on packed-refs stops deletions, and nothing of their transaction is changed', async () => {
    const scene = await createScene();
    writeFileSync(join(scene.gitDir, 'packed-refs.lock'), '');
    const attempt = scene.stores.refs.update([
      { name: thread, expected: scene.a, value: null },
      { name: ref('history/2026-11-21/one'), expected: null, value: scene.a },
    ]);
    await expect(attempt).rejects.toMatchObject({ name: 'RefLocked', ref: 'packed-refs' });
    expect(await scene.stores.refs.list('refs/')).toEqual([{ name: thread, id: scene.a }]);
    expect(existsSync(join(scene.gitDir, `${thread}.lock`))).toBe(false);
    await scene.stores.refs.update([{ name: thread, expected: scene.a, value: scene.b }]);
  });
});

test('records that are removed while they are in use stop nobody', async () => {
  const scene = await createScene();
  const lockPath = join(scene.gitDir, `${thread}.lock`);
  writeFileSync(lockPath, '');
  const attempt = scene.openStores(10_000).refs.update([{ name: thread, expected: scene.a, value: scene.b }]);
  for (const name of readdirSync(scene.locks)) unlinkSync(join(scene.locks, name));
  unlinkSync(lockPath);
  await attempt;
  expect(await scene.stores.refs.read(thread)).toBe(scene.b);
});
