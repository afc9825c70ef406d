import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { takeSnapshot } from '../../../src/git/worktree/snapshot.ts';
import { discoverRepository } from '../../../src/git/repository/discover.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

/** More files than git adds without comparing them first. */
const FILES = 1_001;
const limits = { maxBytes: 100_000_000, timeoutMs: 60_000 };

function createScene(): TemporaryRepository & { kept: string; nameOf: (at: number) => string } {
  const scene = createTemporaryRepository();
  const nameOf = (at: number): string => `f${at}`;
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(scene.dir, nameOf(at)), `${at}`.padStart(8));
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'first');
  return { ...scene, nameOf, kept: join(scene.dir, '.git/uwf/refreshed-index') };
}

type Scene = ReturnType<typeof createScene>;

function touch({ dir, nameOf }: Scene, seconds: number): void {
  for (let at = 0; at < FILES; at += 1) utimesSync(join(dir, nameOf(at)), seconds, seconds);
}

/** The tree that uwf records, which has to be the one that git records from nothing. */
async function recordedTree({ open, dir }: Scene, folder: string = dir): Promise<string> {
  const location = await discoverRepository(folder, env);
  const { tree, release } = await takeSnapshot(await open(), { location, env, limits });
  release();
  const index = join(createTemporaryFolder(), 'index');
  const fromNothing = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, env: { ...env, GIT_INDEX_FILE: index }, encoding: 'utf8' }).trim();
  fromNothing('add', '-A');
  expect(tree).toBe(fromNothing('write-tree'));
  return tree;
}

describe('what a snapshot has compared', () => {
  test('is kept for the next one, which compares no file again', async () => {
    const scene = createScene();
    touch(scene, 1_000_000);
    const tree = await recordedTree(scene);
    expect(existsSync(scene.kept)).toBe(true);
    const kept = readFileSync(scene.kept);
    writeFileSync(join(scene.dir, scene.nameOf(7)), 'changed!');
    const next = await recordedTree(scene);
    expect(next).not.toBe(tree);
    // It had few files to look at, so that it kept nothing anew.
    expect(readFileSync(scene.kept).equals(kept)).toBe(true);
    writeFileSync(join(scene.dir, scene.nameOf(7)), '7'.padStart(8));
    expect(await recordedTree(scene)).toBe(tree);
  });

  test('is not used for another index, nor if it is damaged', async () => {
    const scene = createScene();
    touch(scene, 1_000_000);
    await recordedTree(scene);
    scene.git('rm', '-q', '--cached', scene.nameOf(1));
    writeFileSync(join(scene.dir, '.git/info/exclude'), `${scene.nameOf(1)}\n`);
    const without = await recordedTree(scene);
    expect(scene.git('ls-tree', without, scene.nameOf(1))).toBe('');
    const bytes = readFileSync(scene.kept);
    bytes[bytes.length - 100] = (bytes.at(-100) ?? 0) ^ 1;
    writeFileSync(scene.kept, bytes);
    expect(await recordedTree(scene)).toBe(without);
    rmSync(scene.kept);
    mkdirSync(scene.kept);
    touch(scene, 2_000_000);
    expect(await recordedTree(scene)).toBe(without);
  });

  test('does not hide a change of the same size in the moment of the snapshot', async () => {
    const scene = createScene();
    for (let round = 0; round < 3; round += 1) {
      const now = Date.now() / 1000;
      touch(scene, now);
      await recordedTree(scene);
      const path = join(scene.dir, scene.nameOf(3));
      writeFileSync(path, `round ${round}!`);
      utimesSync(path, now, now);
      const tree = await recordedTree(scene);
      expect(scene.git('cat-file', 'blob', `${tree}:${scene.nameOf(3)}`)).toBe(`round ${round}!`);
    }
  });

  test('is that of one work tree', async () => {
    const scene = createScene();
    touch(scene, 1_000_000);
    await recordedTree(scene);
    const folder = join(createTemporaryFolder(), 'linked');
    scene.git('worktree', 'add', '-q', '--detach', folder);
    writeFileSync(join(folder, scene.nameOf(5)), 'elsewhe');
    const tree = await recordedTree(scene, folder);
    expect(scene.git('cat-file', 'blob', `${tree}:${scene.nameOf(5)}`)).toBe('elsewhe');
    touch({ ...scene, dir: folder }, 1_000_000);
    await recordedTree(scene, folder);
    expect(existsSync(join(scene.dir, '.git/worktrees/linked/uwf/refreshed-index'))).toBe(true);
    scene.git('worktree', 'remove', '--force', folder);
    expect(existsSync(join(scene.dir, '.git/worktrees/linked'))).toBe(false);
  });
});
