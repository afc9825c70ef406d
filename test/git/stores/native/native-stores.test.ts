import nodeFs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { NativeObjectStore } from '../../../../src/git/stores/native/native-object-store.ts';
import { NativeRefStore } from '../../../../src/git/stores/native/native-ref-store.ts';
import type { ObjectFormat } from '../../../../src/git/format/object-id.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';
import { describeRefStore } from '../../../contracts/ref-store.ts';
import { ref, writeCommits } from '../../../contracts/store-fixture.ts';
import type { StoreFixture } from '../../../contracts/store-fixture.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../../../helpers/temporary-repository.ts';

function fixtureOf(format: ObjectFormat): () => Promise<StoreFixture> {
  return async () => {
    const { dir } = createTemporaryRepository({ objectFormat: format });
    const gitDir = join(dir, '.git');
    const open = (): { objects: NativeObjectStore; refs: NativeRefStore } => {
      const location = { gitDir, commonDir: gitDir, workTree: dir };
      const objects = new NativeObjectStore(location, isolatedGitEnvironment, format);
      const refs = new NativeRefStore({ location, env: isolatedGitEnvironment }, format);
      onTestFinished(async () => void (await Promise.all([objects.close(), refs.close()])));
      return { objects, refs };
    };
    const { objects, refs } = open();
    return {
      objects,
      refs,
      reopen: async () => open(),
      fs: nodeFs,
      gitdir: gitDir,
      expectSound: () => expectCleanFsck(dir),
    };
  };
}

for (const format of ['sha1', 'sha256'] as const) {
  describeObjectStore(`native (${format})`, fixtureOf(format));
  describeRefStore(`native (${format})`, fixtureOf(format));
}

/** The running git processes that this process started, by what they were asked to do. */
function childrenRunning(command: string): number[] {
  return nodeFs.readdirSync('/proc').flatMap((name) => {
    try {
      const stat = nodeFs.readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const isOurs = Number(parent) === process.pid && state !== 'Z';
      return isOurs && nodeFs.readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(command) ? [Number(name)] : [];
    } catch {
      // Ended meanwhile, or no process at all.
      return [];
    }
  });
}

test.runIf(nodeFs.existsSync('/proc/self/stat'))(
  'a git that somebody kills is started again, and closing ends it',
  async () => {
    const { objects, refs } = await fixtureOf('sha1')();
    const [a, b] = await writeCommits(objects, 'a', 'b');
    for (const [expected, value] of [
      [null, a!],
      [a!, b!],
    ] as const) {
      await refs.update([{ name: ref('threads/one'), expected, value }]);
      expect((await objects.read(value))?.type).toBe('commit');
      expect([childrenRunning('cat-file').length, childrenRunning('update-ref').length]).toEqual([1, 1]);
      const waiting = Array.from({ length: 50 }, () => objects.read(value));
      for (const pid of [...childrenRunning('cat-file'), ...childrenRunning('update-ref')])
        process.kill(pid, 'SIGKILL');
      expect(await Promise.all(waiting)).toHaveLength(50);
    }
    expect(await refs.read(ref('threads/one'))).toBe(b);
    await objects.close();
    expect(childrenRunning('cat-file')).toEqual([]);
  },
);
