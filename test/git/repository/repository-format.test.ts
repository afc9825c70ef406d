import { spawnSync } from 'node:child_process';
import nodeFs, { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRepository } from '../../../src/git/open-repository.ts';
import { openPortableRepository } from '../../../src/git/stores/portable/open-portable-repository.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { createTemporaryFolder, createTemporaryRepository, runGit } from '../../helpers/temporary-repository.ts';
import type { Repository } from '../../../src/git/repository.ts';
import type { TemporaryRepository } from '../../helpers/temporary-repository.ts';

/** From 2.45 on; older ones refuse such a repository. */
const knowsReftable = spawnSync('git', ['init', '-h'], { encoding: 'utf8' }).stdout.includes('--ref-format');

const everything = (dir: string): string[] => (readdirSync(dir, { recursive: true }) as string[]).toSorted();

const noGit = { env: { PATH: '/nonexistent' } };

const portably = (dir: string) => (): Promise<Repository> => openPortableRepository({ fs: nodeFs, dir });

/** Nobody can open it: it is refused by name, and everything is left as it was. */
async function expectRefused(dir: string, feature: string): Promise<void> {
  await expectRefusedBy([() => openRepository(dir), portably(dir)], dir, feature);
}

/** It takes git to open it. */
async function expectLeftToGit(dir: string, feature: string): Promise<void> {
  await expectRefusedBy([() => openRepository(dir, noGit), portably(dir)], dir, feature);
  const repository = await openRepository(dir);
  await repository.close();
}

async function expectRefusedBy(openers: (() => Promise<Repository>)[], dir: string, feature: string): Promise<void> {
  const before = everything(dir);
  for (const opener of openers) {
    const open = opener();
    await expect(open).rejects.toMatchObject({ code: 'unsupported-repository' });
    await expect(open).rejects.toMatchObject({ code: 'unsupported-repository', kind: 'environment', feature });
    await expect(open).rejects.toThrow(feature);
  }
  expect(everything(dir)).toEqual(before);
}

function withExtension(key: string, value: string, version = '1'): TemporaryRepository {
  const repository = createTemporaryRepository();
  const file = join(repository.dir, '.git/config');
  runGit('/', ['config', '--file', file, 'core.repositoryformatversion', version]);
  runGit('/', ['config', '--file', file, `extensions.${key}`, value]);
  return repository;
}

describe('a repository whose format nobody speaks is refused by name and left alone', () => {
  test.each([
    ['objectFormat', 'sha512', 'objectFormat sha512'],
    ['refStorage', 'sqlite', 'refStorage sqlite'],
    ['compatObjectFormat', 'sha256', 'compatObjectFormat sha256'],
    ['somethingNew', 'true', "the extension 'somethingnew'"],
  ])('one with extensions.%s=%s', async (key, value, feature) => {
    await expectRefused(withExtension(key, value).dir, feature);
    await expectRefused(withExtension(key, value, '0').dir, feature);
  });

  test('one of a version that is not known', async () => {
    await expectRefused(withExtension('noop', 'true', '2').dir, 'repositoryFormatVersion 2');
  });
});

describe('a repository of another format than most is opened', () => {
  test('one of sha256 objects, made by git itself, and a linked worktree of it', async () => {
    const repository = createTemporaryRepository({ objectFormat: 'sha256' });
    await expectRefusedBy([portably(repository.dir)], repository.dir, 'objectFormat sha256');
    await (await openRepository(repository.dir, noGit)).close();
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    const linked = join(createTemporaryFolder(), 'linked');
    repository.git('worktree', 'add', '--quiet', linked);
    const opened = await openRepository(linked);
    expect(await opened.refs.read(parseRefName('HEAD'))).toBe(repository.git('rev-parse', 'HEAD'));
    await opened.close();
    await expect(openRepository(linked, noGit)).rejects.toMatchObject({ code: 'git-not-found' });
  });

  test('one with a reftable, or it is refused where the git at hand does not know them', async () => {
    if (knowsReftable) {
      const dir = createTemporaryFolder();
      runGit(dir, ['init', '--quiet', '--ref-format=reftable']);
      await expectLeftToGit(dir, 'refStorage reftable');
    } else {
      const { dir } = withExtension('refStorage', 'reftable');
      await expectRefused(dir, 'refStorage reftable');
      await expect(openRepository(dir)).rejects.toMatchObject({ hint: expect.stringContaining('refstorage') });
    }
  });
});

describe('a repository whose extensions change nothing for us is opened', () => {
  test.each([
    ['noop', 'true'],
    ['preciousObjects', 'true'],
    ['worktreeConfig', 'true'],
    ['relativeWorktrees', 'true'],
    ['partialClone', 'origin'],
    ['objectFormat', 'sha1'],
    ['refStorage', 'files'],
  ])('with extensions.%s=%s', async (key, value) => {
    const { dir } = withExtension(key, value);
    const repository = await openRepository(dir);
    expect(repository.location).toEqual({ gitDir: `${dir}/.git`, commonDir: `${dir}/.git`, workTree: dir });
    expect(repository.stateDir).toBe(`${dir}/.git/uwf`);
    expect(existsSync(`${dir}/.git/uwf`)).toBe(false);
    await repository.close();
    await (await openPortableRepository({ fs: nodeFs, dir })).close();
  });
});
