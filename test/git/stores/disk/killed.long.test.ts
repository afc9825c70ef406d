import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import type { DiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { ref, writeCommits } from '../../../contracts/store-fixture.ts';
import { runTypeScript } from '../../../helpers/run-typescript.ts';
import type { ScriptOutcome } from '../../../helpers/run-typescript.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

const script = join(import.meta.dirname, '..', '..', '..', 'faults', 'move-a-thread.ts');
const moved = ref('threads/moved');
const ended = ref('threads/ended');
const history = ref('history/2026-11-21/ended');

type Scene = TemporaryRepository & {
  gitDir: string;
  openStores: () => DiskStores;
  stores: DiskStores;
  old: ObjectId;
  head: ObjectId;
};

/** A thread at `head` and one that ended at `head`, loose, with an older value packed behind it. */
async function createScene(): Promise<Scene> {
  const repository = createTemporaryRepository();
  const gitDir = join(repository.dir, '.git');
  const openStores = (): DiskStores => openDiskStores({ gitDir, commonDir: gitDir, workTree: repository.dir });
  const stores = openStores();
  const [old, head] = await writeCommits(stores.objects, 'old', 'head');
  await stores.refs.update([
    { name: moved, expected: null, value: old! },
    { name: ended, expected: null, value: old! },
  ]);
  repository.git('pack-refs', '--all', '--prune');
  await stores.refs.update([
    { name: moved, expected: old!, value: head! },
    { name: ended, expected: old!, value: head! },
  ]);
  await stores.close();
  return { ...repository, gitDir, openStores, stores, old: old!, head: head! };
}

function runWithFault(scene: Scene, fault: string, at: number): Promise<ScriptOutcome> {
  return runTypeScript(script, [scene.gitDir, scene.head, scene.head], {
    withFaults: true,
    env: { UWF_FAULT: fault, UWF_FAULT_AT: String(at) },
  });
}

const leftovers = /(\.lock|\.new|\.keep)$|tmp_/;

function namesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' });
}

/** What git says; the older, packed value must never show. */
async function expectOldOrNew(scene: Scene, stdout: string): Promise<void> {
  const refs = new Map((await scene.stores.refs.list('refs/')).map(({ name, id }) => [name, id]));
  const acknowledged = /^acknowledged (.*)$/m.exec(stdout)?.[1];
  const seenByGit = scene.git('for-each-ref', '--format=%(objectname) %(refname)').split('\n');
  expect(seenByGit.toSorted()).toEqual([...refs].map(([name, id]) => `${id} ${name}`).toSorted());
  if (acknowledged === undefined) {
    // Moving to the history is creating, then deleting: it may be found twice, never nowhere.
    expect([refs.get(ended), refs.get(history)]).toContain(scene.head);
    for (const value of [refs.get(ended), refs.get(history)]) expect([scene.head, undefined]).toContain(value);
    expect(refs.get(moved)).not.toBe(scene.old);
  } else {
    expect([refs.get(moved), refs.get(ended), refs.get(history)]).toEqual([acknowledged, undefined, scene.head]);
  }
  expectCleanFsck(scene.dir);
}

describe('a process that is killed while it changes a repository', () => {
  test('leaves nothing broken and nothing that blocks, at whatever call', async () => {
    let kills = 0;
    for (let at = 1; ; at++) {
      const scene = await createScene();
      const outcome = await runWithFault(scene, 'kill', at);
      if (outcome.signal === null) {
        expect(outcome).toMatchObject({ code: 0, stderr: '' });
        expect(outcome.stdout).toMatch(/finished\n$/);
        await expectOldOrNew(scene, outcome.stdout);
        break;
      }
      kills += 1;
      expect(outcome.signal).toBe('SIGKILL');
      await expectOldOrNew(scene, outcome.stdout);

      // One that is killed while it cleans up leaves no more than it found.
      const second = await runWithFault(scene, 'kill', 1 + ((at * 7) % 40));
      await expectOldOrNew(scene, outcome.stdout + second.stdout);

      // git makes the last change or none when its caller is killed; then nothing blocks uwf or git.
      const nextCommand = scene.openStores();
      const [next] = await writeCommits(nextCommand.objects, 'next');
      await nextCommand.refs.update([{ name: ref('threads/other'), expected: null, value: next! }]);
      expect(namesBelow(join(scene.gitDir, 'refs')).filter((name) => leftovers.test(name))).toEqual([]);
      expect(existsSync(join(scene.gitDir, 'packed-refs.lock'))).toBe(false);
      expect(namesBelow(join(scene.gitDir, 'objects')).filter((name) => name.endsWith('.keep'))).toEqual([]);
      for (const name of [moved, ended, history]) scene.git('update-ref', name, next!);
      scene.git('update-ref', '-d', ended);
      scene.git('pack-refs', '--all', '--prune');

      // What was torn off goes with git's own collection, and nothing else does.
      scene.git('gc', '--quiet', '--prune=now');
      expect(scene.git('count-objects', '-v')).toMatch(/^garbage: 0$/m);
      expect(await nextCommand.objects.has(next!)).toBe(true);
      await nextCommand.close();
      expectCleanFsck(scene.dir);
      await scene.stores.close();
      scene.remove();
    }
    // Fewer would mean that the faults are not where the work is done.
    expect(kills).toBeGreaterThan(15);
  }, 300_000);
});

describe('a disk that refuses', () => {
  test.each([
    ['ENOSPC', 'StorageFull'],
    ['EROFS', 'StorageReadOnly'],
  ])(
    '%s at any call ends as %s, with nothing half-written',
    async (code, errorName) => {
      let failures = 0;
      for (let at = 1; ; at++) {
        const scene = await createScene();
        const outcome = await runWithFault(scene, code, at);
        expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
        if (outcome.stdout.endsWith('finished\n')) break;
        failures += 1;
        expect(outcome.stdout).toMatch(new RegExp(`failed ${errorName}\n$`));
        await expectOldOrNew(scene, outcome.stdout);
        expect(namesBelow(scene.gitDir).filter((name) => leftovers.test(name))).toEqual([]);
        expect(scene.git('count-objects', '-v')).toMatch(/^garbage: 0$/m);
        await scene.stores.close();
        scene.remove();
      }
      expect(failures).toBeGreaterThan(15);
    },
    300_000,
  );
});
