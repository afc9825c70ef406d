import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import type { DiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { hashObject, parseObjectId } from '../../../../src/git/format/object-id.ts';
import { formatIdentity, ownIdentity } from '../../../../src/git/system/process-identity.ts';
import { blob, emptyTree, ref, writeCommits } from '../../../contracts/store-fixture.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

type Scene = TemporaryRepository & { packFolder: string; openStores: () => DiskStores; stores: DiskStores };

function createScene(): Scene {
  const repository = createTemporaryRepository();
  const gitDir = join(repository.dir, '.git');
  const openStores = (): DiskStores => openDiskStores({ gitDir, commonDir: gitDir, workTree: repository.dir });
  return { ...repository, packFolder: join(gitDir, 'objects', 'pack'), openStores, stores: openStores() };
}

const collections = [
  ['repack', '-adq'],
  ['gc', '--quiet', '--prune=now'],
  ['repack', '-Adq', '--unpack-unreachable=now'],
  ['prune', '--expire=now'],
];

describe('between writing objects and moving the ref', () => {
  test.each(collections)('git %s takes nothing away', async (...command) => {
    const scene = createScene();
    const [base] = await writeCommits(scene.stores.objects, 'base');
    await scene.stores.refs.update([{ name: ref('threads/one'), expected: null, value: base! }]);
    const object = blob('nothing names it yet');
    const written = await scene.stores.objects.write([object]);
    scene.git(...command);
    expect(Buffer.from((await scene.openStores().objects.read(hashObject(object)))!.data)).toEqual(object.data);
    await written.release();
    // The keep is what made the difference: without it, and without a ref, the next repack deletes it.
    scene.git('repack', '-adq');
    expect(await scene.openStores().objects.has(hashObject(object))).toBe(false);
    expect(readdirSync(scene.packFolder).filter((name) => name.endsWith('.keep'))).toEqual([]);
    expectCleanFsck(scene.dir);
  });

  test('two writers of the same objects do not share what keeps them', async () => {
    const scene = createScene();
    const object = blob('both write it');
    const one = await scene.stores.objects.write([object]);
    const two = await scene.openStores().objects.write([object]);
    await one.release();
    scene.git('repack', '-adq');
    expect(await scene.openStores().objects.has(hashObject(object))).toBe(true);
    await two.release();
  });

  test('an old object that nothing needed any more is new again once it is written', async () => {
    const scene = createScene();
    const object = blob('written three weeks ago');
    const id = parseObjectId(runGit(scene.dir, ['hash-object', '-w', '--stdin'], 'written three weeks ago'));
    const loose = join(scene.dir, '.git', 'objects', id.slice(0, 2), id.slice(2));
    const threeWeeksAgo = Date.now() / 1000 - 21 * 24 * 3600;
    utimesSync(loose, threeWeeksAgo, threeWeeksAgo);
    const written = await scene.stores.objects.write([object]);
    scene.git('gc', '--quiet');
    expect(existsSync(loose)).toBe(false);
    expect(await scene.openStores().objects.has(id)).toBe(true);
    await written.release();
  });
});

describe('what keeps a pack from git', () => {
  test('goes with the next write if its process was killed, together with a pack it had not finished', async () => {
    const scene = createScene();
    const dead = `uwf ${formatIdentity({ ...ownIdentity(), startTime: '1' })}\n`;
    const alive = `uwf ${formatIdentity(ownIdentity())}\n`;
    const elsewhere = `uwf ${formatIdentity({ ...ownIdentity(), host: 'elsewhere', bootId: 'ab'.repeat(16) })}\n`;
    const [complete, unfinished, alone, working, far, foreign] = [1, 2, 3, 4, 5, 6].map((digit) =>
      join(scene.packFolder, `pack-${String(digit).repeat(40)}`),
    );
    await (await scene.openStores().objects.write([blob('complete')])).release();
    const made = readdirSync(scene.packFolder)
      .find((name) => name.endsWith('.idx'))!
      .slice(0, -'.idx'.length);
    for (const ending of ['pack', 'idx'])
      renameSync(join(scene.packFolder, `${made}.${ending}`), `${complete}.${ending}`);
    writeFileSync(`${complete}.keep`, dead);
    writeFileSync(`${unfinished}.keep`, dead);
    writeFileSync(`${unfinished}.pack`, 'PACK');
    writeFileSync(`${alone}.keep`, dead);
    writeFileSync(`${working}.keep`, alive);
    writeFileSync(`${working}.pack`, 'PACK');
    writeFileSync(`${far}.keep`, elsewhere);
    writeFileSync(`${foreign}.keep`, 'a person wants it kept\n');
    await (await scene.stores.objects.write([blob('next')])).release();
    const left = readdirSync(scene.packFolder).map((name) => join(scene.packFolder, name));
    expect(left.filter((path) => path.endsWith('.keep')).toSorted()).toEqual([
      `${working}.keep`,
      `${far}.keep`,
      `${foreign}.keep`,
    ]);
    expect(left).toContain(`${complete}.idx`);
    expect(left).toContain(`${working}.pack`);
    expect(left).not.toContain(`${unfinished}.pack`);
  });
});

describe('a reader', () => {
  test('misses nothing while git packs everything anew again and again', async () => {
    const scene = createScene();
    const objects = Array.from({ length: 200 }, (_, number) => blob(`object ${number}`));
    const ids = objects.map((object) => hashObject(object));
    const tree = runGit(
      scene.dir,
      ['mktree', '--missing'],
      ids.map((id, at) => `100644 blob ${id}\tfile-${at}\n`).join(''),
    );
    const commit = runGit(scene.dir, ['commit-tree', '-m', 'all', tree]);
    scene.git('update-ref', 'refs/heads/main', commit);
    await (await scene.stores.objects.write(objects)).release();
    // Each round makes a pack of another name and deletes the one before.
    const round =
      'c=$(git commit-tree -p main -m $i main^{tree}) && git update-ref refs/heads/main $c && git repack -adq';
    const loop = spawn('sh', ['-ec', `for i in $(seq 40); do ${round}; done`], {
      cwd: scene.dir,
      env: isolatedGitEnvironment,
      stdio: 'ignore',
    });
    const over = new AbortController();
    const ended = once(loop, 'exit').finally(() => over.abort());
    let reads = 0;
    while (!over.signal.aborted) {
      for (const id of ids) {
        const object = await scene.stores.objects.read(id);
        expect(object, `${id} after ${reads} reads`).toBeDefined();
        reads += 1;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await ended)[0]).toBe(0);
    expect(reads).toBeGreaterThan(1000);
  });

  test('finds what another process packed a moment ago, though the time of the folder does not tell', async () => {
    const scene = createScene();
    // File systems keep times in steps of up to two seconds.
    const step = Math.floor(Date.now() / 1000);
    for (let number = 0; number < 5; number++) {
      const object = blob(`late ${number}`);
      utimesSync(scene.packFolder, step, step);
      expect(await scene.stores.objects.has(hashObject(object))).toBe(false);
      await (await scene.openStores().objects.write([object])).release();
      utimesSync(scene.packFolder, step, step);
      expect(await scene.stores.objects.has(hashObject(object))).toBe(true);
    }
  });

  test('takes for a pack neither an index without one nor what git had not finished', async () => {
    const scene = createScene();
    writeFileSync(join(scene.packFolder, '.tmp-123-pack-0123456789abcdef0123456789abcdef01234567.idx'), 'half an ind');
    writeFileSync(join(scene.packFolder, `pack-${'1'.repeat(40)}.idx`), 'no pack of this name');
    writeFileSync(join(scene.packFolder, 'tmp_pack_abc'), 'PACK');
    expect(await scene.stores.objects.read(hashObject(blob('absent')))).toBeUndefined();
    await (await scene.stores.objects.write([blob('there')])).release();
    expect(await scene.stores.objects.has(hashObject(blob('there')))).toBe(true);
  });

  test('reads what an id says, not what a replace ref puts in its place', async () => {
    const scene = createScene();
    const [one, two] = [blob('one'), blob('two')];
    await (await scene.stores.objects.write([one, two, emptyTree])).release();
    scene.git('replace', hashObject(one), hashObject(two));
    expect(scene.git('cat-file', 'blob', hashObject(one))).toBe('two');
    expect(Buffer.from((await scene.stores.objects.read(hashObject(one)))!.data).toString()).toBe('one');
  });
});

test('git gc folds the packs of many steps into one and uwf reads on', async () => {
  const scene = createScene();
  let head: ReturnType<typeof hashObject> | null = null;
  for (let number = 0; number < 60; number++) {
    const [next] = await writeCommits(scene.stores.objects, `step ${number}`);
    await scene.stores.refs.update([{ name: ref('threads/one'), expected: head, value: next! }]);
    head = next!;
  }
  expect(readdirSync(scene.packFolder).filter((name) => name.endsWith('.pack'))).toHaveLength(60);
  scene.git('repack', '--geometric=2', '-d', '-q');
  expect(readdirSync(scene.packFolder).filter((name) => name.endsWith('.pack'))).toHaveLength(1);
  expect(await scene.stores.objects.has(head!)).toBe(true);
  expectCleanFsck(scene.dir);
});
