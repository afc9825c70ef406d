import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { diffTrees } from '../../../src/git/process/revisions.ts';
import { removeStaleQuarantines } from '../../../src/git/stores/quarantine.ts';
import { restoreWorkTree } from '../../../src/git/worktree/own-work-tree.ts';
import {
  snapshotFolder,
  takeSnapshot,
  type Snapshot,
  type SnapshotLimits,
} from '../../../src/git/worktree/snapshot.ts';
import { ObjectBatch, publish } from '../../../src/git/stores/publish.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { Repository } from '../../../src/git/repository.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { parseObjectId } from '../../../src/git/format/object-id.ts';

const EMPTY_TREE = parseObjectId('4b825dc642cb6eb9a060e54bf8d69288fbee4904');

const roomy: SnapshotLimits = { maxBytes: 100_000_000, timeoutMs: 30_000 };

async function snapshotOf(repository: Repository, limits = roomy): Promise<Snapshot> {
  const { location } = repository;
  if (!location) throw new Error('the repository is on a disk');
  const snapshot = await takeSnapshot(repository, { location, env, limits });
  if (!snapshot) throw new Error('nothing was recorded');
  return snapshot;
}

/** Keeps a snapshot by a ref, as a step does. */
async function keep(repository: Repository, snapshot: Snapshot, name = 'refs/uwf/test'): Promise<void> {
  const batch = new ObjectBatch();
  for (const object of snapshot.objects) batch.add(object);
  const who = { name: 'a', email: 'a@b', atMs: 0 };
  const parents = snapshot.commit === undefined ? [] : [snapshot.commit];
  const id = batch.addCommit({ tree: snapshot.tree, parents, author: who, committer: who, message: 'kept\n' });
  await publish(repository, batch, [{ name: parseRefName(name), expected: null, value: id }]);
  snapshot.release();
}

/** Every file below a folder: its path as bytes, its kind and what it holds. */
function filesIn(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  const visit = (path: Buffer): void => {
    for (const name of readdirSync(path, { encoding: 'buffer' })) {
      const inner = Buffer.concat([path, Buffer.from('/'), name]);
      const key = inner.subarray(Buffer.byteLength(folder) + 1).toString('latin1');
      if (key === '.git') continue;
      const stat = lstatSync(inner);
      if (stat.isDirectory()) visit(inner);
      else if (stat.isSymbolicLink())
        files.set(key, `link ${readlinkSync(inner, { encoding: 'buffer' }).toString('hex')}`);
      else files.set(key, `${stat.mode & 0o100 ? 'x' : '-'} ${readFileSync(inner).toString('hex')}`);
    }
  };
  visit(Buffer.from(folder));
  return files;
}

/** What of the user's must not change. */
function usersState({ dir, git }: TemporaryRepository): string[] {
  return [
    readFileSync(join(dir, '.git/index')).toString('hex'),
    readFileSync(join(dir, '.git/HEAD'), 'utf8'),
    git('rev-parse', 'HEAD'),
    git('stash', 'list'),
    git('branch', '--list'),
  ];
}

/** A work tree with everything that makes copying hard, in the middle of somebody's work. */
function createMessyRepository(): TemporaryRepository {
  const temporary = createTemporaryRepository();
  const { dir, git } = temporary;
  const library = createTemporaryRepository();
  writeFileSync(join(library.dir, 'lib.c'), 'int x;\n');
  library.git('add', '-A');
  library.git('commit', '-qm', 'library');
  writeFileSync(join(dir, '.gitignore'), 'ignored.log\nbuild/\n');
  writeFileSync(join(dir, 'kept.txt'), 'kept\n');
  writeFileSync(join(dir, 'changed.txt'), 'before\n');
  writeFileSync(join(dir, 'gone.txt'), 'gone\n');
  writeFileSync(join(dir, 'stashed.txt'), 'one\n');
  git('add', '-A');
  git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', library.dir, 'library');
  git('commit', '-qm', 'first');
  writeFileSync(join(dir, 'stashed.txt'), 'two\n');
  git('stash', '-q');
  writeFileSync(join(dir, 'staged.txt'), 'staged\n');
  git('add', 'staged.txt');
  writeFileSync(join(dir, 'staged.txt'), 'and changed again\n');
  writeFileSync(join(dir, 'changed.txt'), 'after\r\nwith \0 bytes\n');
  rmSync(join(dir, 'gone.txt'));
  writeFileSync(join(dir, 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(dir, 'run.sh'), 0o755);
  mkdirSync(join(dir, 'deep/er'), { recursive: true });
  writeFileSync(join(dir, 'deep/er/empty'), '');
  symlinkSync('../kept.txt', join(dir, 'deep/link'));
  symlinkSync('nowhere', join(dir, 'dangling'));
  writeFileSync(Buffer.concat([Buffer.from(`${dir}/caf`), Buffer.from([0xe9, 0xff]), Buffer.from('\n"x')]), 'latin\n');
  writeFileSync(join(dir, 'ignored.log'), 'ignored\n');
  mkdirSync(join(dir, 'build'));
  writeFileSync(join(dir, 'build/out'), 'built\n');
  return temporary;
}

describe('a snapshot of a work tree', () => {
  test('comes back with the bytes, modes, links and names it was made of, and leaves the user alone', async () => {
    const temporary = createMessyRepository();
    const { dir, git } = temporary;
    const repository = await temporary.open();
    const before = usersState(temporary);
    const snapshot = await snapshotOf(repository);
    await keep(repository, snapshot);
    expect(usersState(temporary)).toEqual(before);
    expect(snapshot).not.toHaveProperty('shortfall');

    const folder = join(createTemporaryFolder(), 'restored');
    const commit = snapshot.commit ?? snapshot.tree;
    git('gc', '--prune=now', '--quiet');
    const restored = await restoreWorkTree(
      { location: repository.location!, env },
      { tree: snapshot.tree, commit },
      folder,
    );
    expect(usersState(temporary)).toEqual(before);
    const expected = filesIn(dir);
    for (const path of ['ignored.log', 'build/out', 'library/.git', 'library/lib.c']) expected.delete(path);
    expect(filesIn(folder)).toEqual(expected);
    expect(restored.submodules).toEqual(['library']);
    expect(runGit(folder, ['rev-parse', 'HEAD'])).toBe(git('rev-parse', 'HEAD'));
    expect(git('ls-tree', snapshot.tree, 'library')).toBe(git('ls-tree', 'HEAD', 'library'));
    expectCleanFsck(dir);
    await repository.close();
  });

  test('sees a change of the same size in the very moment in which the index was written', async () => {
    const temporary = createTemporaryRepository();
    const { dir, git } = temporary;
    const repository = await temporary.open();
    for (let round = 0; round < 5; round += 1) {
      writeFileSync(join(dir, 'file'), `a${round}`);
      git('add', 'file');
      writeFileSync(join(dir, 'file'), `b${round}`);
      const snapshot = await snapshotOf(repository);
      await keep(repository, snapshot, `refs/uwf/test-${round}`);
      expect(git('cat-file', 'blob', `${snapshot.tree}:file`)).toBe(`b${round}`);
    }
    await repository.close();
  });

  test('of a branch without a commit has no commit, and of an empty work tree no file', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const snapshot = await snapshotOf(repository);
    expect(snapshot.tree).toBe(EMPTY_TREE);
    expect(snapshot).not.toHaveProperty('commit');
    snapshot.release();
    await repository.close();
  });

  test('of more than it may hold comes down to the commit, with the reason, and leaves nothing behind', async () => {
    const temporary = createTemporaryRepository();
    const { dir, git } = temporary;
    writeFileSync(join(dir, 'small'), 'small\n');
    git('add', '-A');
    git('commit', '-qm', 'first');
    const repository = await temporary.open();
    writeFileSync(join(dir, 'large'), Buffer.from(Array.from({ length: 100_000 }, () => Math.random() * 256)));
    const counted = git('count-objects', '-v');
    const tooLarge = await snapshotOf(repository, { ...roomy, maxBytes: 50_000 });
    expect(tooLarge).toMatchObject({ tree: git('rev-parse', 'HEAD^{tree}'), commit: git('rev-parse', 'HEAD') });
    expect(tooLarge.shortfall).toMatch(/more than 50000 bytes/);
    const tooSlow = await snapshotOf(repository, { ...roomy, timeoutMs: 0 });
    // A git that is done within the first look at the clock was fast enough.
    if (tooSlow.shortfall !== undefined) expect(tooSlow.shortfall).toMatch(/longer than 0 s/);
    tooSlow.release();
    expect(git('count-objects', '-v').replace(/^packs.*|^in-pack.*|^size-pack.*/gm, '')).toBe(
      counted.replace(/^packs.*|^in-pack.*|^size-pack.*/gm, ''),
    );
    expect(readdirSync(snapshotFolder(repository.stateDir!))).toEqual([]);
    await repository.close();
  });

  test('shares what the repository has, and brings the rest as one pack', async () => {
    const temporary = createTemporaryRepository();
    const { dir, git } = temporary;
    for (let i = 0; i < 200; i += 1) writeFileSync(join(dir, `old-${i}`), `old ${i}\n`);
    git('add', '-A');
    git('commit', '-qm', 'first');
    git('repack', '-adq');
    for (let i = 0; i < 100; i += 1) writeFileSync(join(dir, `new-${i}`), `new ${i}\n`);
    const repository = await temporary.open();
    const snapshot = await snapshotOf(repository);
    expect(snapshot.objects.map(({ type }) => type)).toEqual(['tree']);
    const counted = Object.fromEntries(
      git('count-objects', '-v')
        .split('\n')
        .map((line) => line.split(': ')),
    );
    expect(counted).toMatchObject({ packs: '2', 'in-pack': '302', count: '0' });
    // Before a ref leads there the pack is guarded.
    git('repack', '-adq');
    await keep(repository, snapshot);
    expectCleanFsck(dir);
    await repository.close();
  });

  test('that a killed process was taking is cleaned up after', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const folder = snapshotFolder(repository.stateDir!);
    (await snapshotOf(repository)).release();
    mkdirSync(join(folder, `999999999.1.${'0'.repeat(32)}.1.nohost@abcdef`));
    mkdirSync(join(folder, 'something-else'));
    removeStaleQuarantines(folder);
    expect(readdirSync(folder)).toContain('something-else');
    await repository.close();
  });

  test('is not restored over something', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const folder = createTemporaryFolder();
    writeFileSync(join(folder, 'mine'), 'mine');
    const content = { tree: EMPTY_TREE, commit: EMPTY_TREE };
    await expect(restoreWorkTree({ location: repository.location!, env }, content, folder)).rejects.toMatchObject({
      code: 'folder-in-use',
    });
    expect(readFileSync(join(folder, 'mine'), 'utf8')).toBe('mine');
    await repository.close();
  });
});

describe('the change between two trees', () => {
  test('names what was added, deleted, changed and renamed, with its lines', async () => {
    const temporary = createTemporaryRepository();
    const { dir, git } = temporary;
    const write = (name: string, data: string | Uint8Array): void => writeFileSync(join(dir, name), data);
    write('same', 'same\n');
    write('changed', 'one\ntwo\n');
    write('deleted', 'nothing like the others\n');
    write('old name', 'a\nb\nc\nd\n');
    write('binary', Uint8Array.of(0, 1, 2));
    git('add', '-A');
    git('commit', '-qm', 'first');
    write('changed', 'one\n2\n3\n');
    rmSync(join(dir, 'deleted'));
    rmSync(join(dir, 'old name'));
    write('new\tname', 'a\nb\nc\nd\n');
    write('binary', Uint8Array.of(0, 1, 3));
    write('added', 'x\ny\n');
    git('add', '-A');
    git('commit', '-qm', 'second');
    const repository = await temporary.open();
    const [from, to] = ['HEAD~^{tree}', 'HEAD^{tree}'].map((name) => git('rev-parse', name) as typeof EMPTY_TREE);
    const changes = await diffTrees({ location: repository.location!, env }, from!, to!);
    expect(changes.map(({ change, path, oldPath, added, deleted }) => [change, path, oldPath, added, deleted])).toEqual(
      [
        ['added', 'added', undefined, 2, 0],
        ['modified', 'binary', undefined, null, null],
        ['modified', 'changed', undefined, 2, 1],
        ['deleted', 'deleted', undefined, 0, 1],
        ['renamed', 'new\tname', 'old name', 0, 0],
      ],
    );
    expect(await diffTrees({ location: repository.location!, env }, to!, to!)).toEqual([]);
    await repository.close();
  });
});
