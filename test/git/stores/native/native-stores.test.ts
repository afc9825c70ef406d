import nodeFs from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DiskObjectStore } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { NativeRefStore } from '../../../../src/git/stores/native/native-ref-store.ts';
import { parseObjectId, type ObjectFormat } from '../../../../src/git/format/object-id.ts';
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
    const open = (): { objects: DiskObjectStore; refs: NativeRefStore } => {
      const location = { gitDir, commonDir: gitDir, workTree: dir };
      const objects = new DiskObjectStore(gitDir, isolatedGitEnvironment, format);
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
  if (format === 'sha256') describeObjectStore('disk (sha256)', fixtureOf(format));
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
      const running = childrenRunning('update-ref');
      expect(running).toHaveLength(1);
      for (const pid of running) process.kill(pid, 'SIGKILL');
    }
    expect(await refs.read(ref('threads/one'))).toBe(b);
  },
);

test('packs of SHA-256 with deltas are read as git reads them', async () => {
  const { dir, git } = createTemporaryRepository({ objectFormat: 'sha256' });
  const text = Array.from({ length: 300 }, (_, at) => `line ${at * at}`);
  for (const offsets of ['true', 'false']) {
    for (let at = 0; at < 10; at += 1) {
      text[at * 7] = `changed by ${offsets}`;
      nodeFs.writeFileSync(join(dir, 'file'), text.join('\n'));
      git('add', 'file');
      git('commit', '-q', '-m', `${at}`);
    }
    git('-c', `repack.useDeltaBaseOffset=${offsets}`, 'repack', '-adfq');
    const store = new DiskObjectStore(join(dir, '.git'), isolatedGitEnvironment, 'sha256');
    const ids = git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)').split('\n').map(parseObjectId);
    for (const id of ids) expect((await store.read(id))?.type).toBe(git('cat-file', '-t', id));
    await store.close();
  }
});
