import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { discoverRepository } from '../../../src/git/repository/discover.ts';
import { RepositoryNotFound } from '../../../src/git/repository/git-directory.ts';
import type { RepositoryLocation } from '../../../src/git/repository.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
} from '../../helpers/temporary-repository.ts';

type Environment = Record<string, string>;

/** What git itself says; `undefined` where it finds no repository. */
function askGit(dir: string, env: Environment = {}): RepositoryLocation | undefined {
  const ask = (...args: string[]): string | undefined => {
    try {
      return execFileSync('git', ['rev-parse', ...args], {
        cwd: dir,
        env: { ...isolatedGitEnvironment, ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
        encoding: 'utf8',
      }).replace(/\n$/, '');
    } catch {
      return undefined;
    }
  };
  const gitDir = ask('--absolute-git-dir');
  const commonDir = ask('--path-format=absolute', '--git-common-dir');
  if (gitDir === undefined || commonDir === undefined) return undefined;
  const workTree = ask('--is-inside-work-tree') === undefined ? undefined : ask('--show-toplevel');
  return {
    gitDir: realpathSync(gitDir),
    commonDir: realpathSync(commonDir),
    workTree: workTree === undefined ? undefined : realpathSync(workTree),
  };
}

async function expectAsGit(dir: string, env: Environment = {}): Promise<RepositoryLocation> {
  const expected = askGit(dir, env);
  expect(expected).toBeDefined();
  expect(await discoverRepository(dir, env)).toEqual(expected);
  return expected!;
}

async function expectNoneAsGit(dir: string, env: Environment = {}): Promise<void> {
  expect(askGit(dir, env)).toBeUndefined();
  await expect(discoverRepository(dir, env)).rejects.toThrow(RepositoryNotFound);
}

function repositoryWithCommit(): ReturnType<typeof createTemporaryRepository> {
  const repository = createTemporaryRepository();
  repository.git('commit', '--quiet', '--allow-empty', '-m', 'first');
  return repository;
}

describe('a repository is found where git finds it', () => {
  test('at the top of its work tree, in a folder of it, and through a symbolic link', async () => {
    const { dir } = createTemporaryRepository();
    mkdirSync(join(dir, 'a/b/c'), { recursive: true });
    await expectAsGit(dir);
    expect(await expectAsGit(join(dir, 'a/b/c'))).toEqual({
      gitDir: join(dir, '.git'),
      commonDir: join(dir, '.git'),
      workTree: dir,
    });
    const link = join(createTemporaryFolder(), 'link');
    symlinkSync(join(dir, 'a/b'), link);
    await expectAsGit(link);
  });

  test('in a bare repository, and in a folder of it', async () => {
    const { dir } = createTemporaryRepository({ bare: true });
    expect(await expectAsGit(dir)).toEqual({ gitDir: dir, commonDir: dir, workTree: undefined });
    await expectAsGit(join(dir, 'refs/heads'));
  });

  test('in a linked worktree, whose common folder is that of the main one', async () => {
    const { dir, git } = repositoryWithCommit();
    const linked = join(createTemporaryFolder(), 'linked');
    git('worktree', 'add', '--quiet', linked);
    mkdirSync(join(linked, 'sub'));
    expect(await expectAsGit(join(linked, 'sub'))).toEqual({
      gitDir: join(dir, '.git/worktrees/linked'),
      commonDir: join(dir, '.git'),
      workTree: linked,
    });
  });

  test('in a linked worktree of a bare repository', async () => {
    const source = repositoryWithCommit();
    const bare = join(createTemporaryFolder(), 'bare.git');
    runGit(source.dir, ['clone', '--quiet', '--bare', source.dir, bare]);
    const linked = join(createTemporaryFolder(), 'linked');
    runGit(bare, ['worktree', 'add', '--quiet', linked, 'main']);
    expect(await expectAsGit(linked)).toEqual({
      gitDir: join(bare, 'worktrees/linked'),
      commonDir: bare,
      workTree: linked,
    });
  });

  test('with bareness and work tree of its own in config.worktree', async () => {
    const { dir, git } = repositoryWithCommit();
    const linked = join(createTemporaryFolder(), 'linked');
    const elsewhere = createTemporaryFolder();
    git('worktree', 'add', '--quiet', linked);
    git('config', 'extensions.worktreeConfig', 'true');
    git('config', '--worktree', 'core.worktree', elsewhere);
    expect((await expectAsGit(dir)).workTree).toBe(elsewhere);
    await expectAsGit(linked);
    git('config', '--worktree', '--unset', 'core.worktree');
    git('config', '--worktree', 'core.bare', 'true');
    expect((await expectAsGit(dir)).workTree).toBeUndefined();
  });

  test('in a submodule, and in a repository with a separate folder', async () => {
    const source = repositoryWithCommit();
    const { dir, git } = repositoryWithCommit();
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source.dir, 'sub');
    expect(await expectAsGit(join(dir, 'sub'))).toEqual({
      gitDir: join(dir, '.git/modules/sub'),
      commonDir: join(dir, '.git/modules/sub'),
      workTree: join(dir, 'sub'),
    });
    const separate = createTemporaryFolder();
    const top = createTemporaryFolder();
    runGit(top, ['init', '--quiet', `--separate-git-dir=${separate}/repository`]);
    await expectAsGit(top);
  });

  test('with a detached HEAD, in the middle of a rebase, and inside .git itself', async () => {
    const { dir, git } = repositoryWithCommit();
    git('checkout', '--quiet', '--detach');
    mkdirSync(join(dir, '.git/rebase-merge'));
    await expectAsGit(dir);
    await expectAsGit(join(dir, '.git'));
  });

  test('as core.bare and core.worktree say', async () => {
    const { dir, git } = createTemporaryRepository();
    const elsewhere = createTemporaryFolder();
    git('config', 'core.worktree', elsewhere);
    expect((await expectAsGit(dir)).workTree).toBe(elsewhere);
    git('config', 'core.worktree', '../..');
    expect((await expectAsGit(dir)).workTree).toBe(join(dir, '..'));
    git('config', '--unset', 'core.worktree');
    git('config', 'core.bare', 'yes');
    expect((await expectAsGit(dir)).workTree).toBeUndefined();
  });

  test('past a .git folder that is no repository', async () => {
    const { dir } = createTemporaryRepository();
    mkdirSync(join(dir, 'sub/.git'), { recursive: true });
    expect((await expectAsGit(join(dir, 'sub'))).workTree).toBe(dir);
  });
});

describe('the environment is honoured as git honours it', () => {
  test('GIT_DIR names the repository, absolute or relative, a file too', async () => {
    const { dir } = createTemporaryRepository();
    const other = createTemporaryRepository();
    mkdirSync(join(dir, 'sub'));
    expect(await expectAsGit(dir, { GIT_DIR: join(other.dir, '.git') })).toEqual({
      gitDir: join(other.dir, '.git'),
      commonDir: join(other.dir, '.git'),
      workTree: dir,
    });
    await expectAsGit(join(dir, 'sub'), { GIT_DIR: '../.git' });
    writeFileSync(join(dir, 'link'), `gitdir: ${other.dir}/.git\n`);
    await expectAsGit(dir, { GIT_DIR: 'link' });
    const bare = createTemporaryRepository({ bare: true });
    expect((await expectAsGit(dir, { GIT_DIR: bare.dir })).workTree).toBeUndefined();
  });

  test('GIT_WORK_TREE says where the work tree is, with GIT_DIR and without', async () => {
    const { dir } = createTemporaryRepository();
    const elsewhere = createTemporaryFolder();
    expect((await expectAsGit(dir, { GIT_DIR: '.git', GIT_WORK_TREE: elsewhere })).workTree).toBe(elsewhere);
    expect((await expectAsGit(dir, { GIT_WORK_TREE: elsewhere })).workTree).toBe(elsewhere);
    mkdirSync(join(dir, 'sub'));
    expect((await expectAsGit(dir, { GIT_WORK_TREE: 'sub' })).workTree).toBe(join(dir, 'sub'));
  });

  test('GIT_COMMON_DIR says where refs and objects are', async () => {
    const { dir } = createTemporaryRepository();
    const shared = createTemporaryRepository({ bare: true });
    rmSync(join(dir, '.git/refs'), { recursive: true });
    rmSync(join(dir, '.git/objects'), { recursive: true });
    await expectNoneAsGit(dir);
    expect((await expectAsGit(dir, { GIT_DIR: '.git', GIT_COMMON_DIR: shared.dir })).commonDir).toBe(shared.dir);
  });

  test('GIT_CEILING_DIRECTORIES ends the search below it', async () => {
    const { dir } = createTemporaryRepository();
    const sub = join(dir, 'a/b');
    mkdirSync(sub, { recursive: true });
    await expectNoneAsGit(sub, { GIT_CEILING_DIRECTORIES: dir });
    await expectNoneAsGit(sub, { GIT_CEILING_DIRECTORIES: `/nowhere:${join(dir, 'a')}` });
    await expectAsGit(dir, { GIT_CEILING_DIRECTORIES: dir });
    await expectAsGit(sub, { GIT_CEILING_DIRECTORIES: sub });
    await expectAsGit(sub, { GIT_CEILING_DIRECTORIES: join(dir, '..') });
    await expectAsGit(sub, { GIT_CEILING_DIRECTORIES: 'a' });
    const link = join(createTemporaryFolder(), 'link');
    symlinkSync(dir, link);
    await expectNoneAsGit(sub, { GIT_CEILING_DIRECTORIES: link });
    await expectAsGit(sub, { GIT_CEILING_DIRECTORIES: `:${link}` });
  });
});

describe('where there is no repository, the error says so', () => {
  test('in a folder outside any', async () => {
    const dir = createTemporaryFolder();
    await expectNoneAsGit(dir);
    await expect(discoverRepository(dir, {})).rejects.toThrow(`${dir} is not in a git repository`);
    try {
      await discoverRepository(dir, {});
    } catch (error) {
      expect(error).toMatchObject({ code: 'repository-not-found', kind: 'environment', path: dir });
      expect((error as RepositoryNotFound).hint).toContain('git init');
    }
  });

  test('behind a .git file that leads nowhere, or says something else', async () => {
    const dir = createTemporaryFolder();
    writeFileSync(join(dir, '.git'), 'gitdir: nowhere\n');
    await expectNoneAsGit(dir);
    await expect(discoverRepository(dir, {})).rejects.toThrow(`${dir}/nowhere`);
    writeFileSync(join(dir, '.git'), 'something else');
    await expectNoneAsGit(dir);
    await expect(discoverRepository(dir, {})).rejects.toThrow("does not start with 'gitdir: '");
  });

  test('in a folder that is not there, and under a GIT_DIR that is none', async () => {
    const dir = createTemporaryFolder();
    await expect(discoverRepository(join(dir, 'absent'), {})).rejects.toThrow('there is no folder');
    await expectNoneAsGit(dir, { GIT_DIR: join(dir, 'absent') });
    await expectNoneAsGit(createTemporaryRepository().dir, { GIT_DIR: '' });
  });
});
