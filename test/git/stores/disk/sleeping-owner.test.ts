import { readFileSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { LOCK_MS } from '../../../../src/git/stores/disk/lock-records.ts';
import { RefLocked } from '../../../../src/git/format/ref-errors.ts';
import type { RefName } from '../../../../src/git/ref-store.ts';
import { ref, writeCommits } from '../../../contracts/store-fixture.ts';
import { startTypeScript } from '../../../helpers/run-typescript.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';
import { until } from '../../../faults/scene.ts';

const script = join(import.meta.dirname, '../../../faults/move-a-thread.ts');
const preload = join(import.meta.dirname, '../../../faults/sleepy-preload.cjs');
const moved = ref('threads/moved');
const ended = ref('threads/ended');

/** A process of another host changes `moved`, deletes `ended`, and has stopped before it renames a file of this name. */
async function createScene(sleepAt: string) {
  const repository = createTemporaryRepository();
  const gitDir = join(repository.dir, '.git');
  const { objects, refs } = openDiskStores({ gitDir, commonDir: gitDir, workTree: undefined }, { lockTimeoutMs: 50 });
  const [head, other] = await writeCommits(objects, 'head', 'other');
  await refs.update([moved, ended].map((name) => ({ name, expected: null, value: head! })));
  const env = { NODE_OPTIONS: `--require ${preload}`, UWF_SLEEP_AT: sleepAt };
  const sleeper = await startTypeScript(script, [gitDir, head!, head!], { env });
  onTestFinished(() => void sleeper.process.kill('SIGKILL'));
  const state = (): string | undefined =>
    / ([A-Z]) /.exec(readFileSync(`/proc/${sleeper.process.pid}/stat`, 'latin1'))?.[1];
  await until('it has stopped', () => state() === 'T');
  const locks = join(gitDir, 'uwf/locks');
  return {
    ...repository,
    refs,
    head: head!,
    other: other!,
    locks,
    change: (name: RefName) => refs.update([{ name, expected: head!, value: other! }]),
    /** Lets so much time pass for the locks as makes them lapse. */
    pass(): void {
      const before = Date.now() / 1000 - LOCK_MS / 1000 - 1;
      for (const name of readdirSync(locks)) utimesSync(join(locks, name), before, before);
    },
    async wake(): Promise<string> {
      sleeper.process.kill('SIGCONT');
      return (await sleeper.outcome).stdout;
    },
  };
}

describe.each([
  ['it changes a ref', moved],
  ['it deletes a ref', ended],
])('an owner of another host that sleeps when %s', (_what, name) => {
  test('keeps its lock until that lapses, and wins if it wakes before', async () => {
    const scene = await createScene(`/${name}`);
    await expect(scene.change(name)).rejects.toThrow(RefLocked);
    expect(await scene.wake()).toContain('acknowledged');
    await expect(scene.change(name)).rejects.toThrow('is at');
    expect(readdirSync(scene.locks)).toEqual([]);
    expectCleanFsck(scene.dir);
  });

  test('has lost when it wakes after another process has broken its lock and changed the ref', async () => {
    const scene = await createScene(`/${name}`);
    scene.pass();
    await scene.change(name);
    expect(await scene.wake()).toMatch(/^failed (RefMoved|LockLost)\n/);
    expect(await scene.refs.read(name)).toBe(scene.other);
    expect(readdirSync(scene.locks)).toEqual([]);
    scene.git('update-ref', name, scene.head);
    expectCleanFsck(scene.dir);
  });
});
