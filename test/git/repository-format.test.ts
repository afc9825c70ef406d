import nodeFs, { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/open-repository.ts';
import { openPortableRepository } from '../../src/git/portable/open-portable-repository.ts';
import { UnsupportedRepository } from '../../src/git/repository-format.ts';
import { createTemporaryFolder, createTemporaryRepository, runGit } from '../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../helpers/temporary-repository.ts';

const everything = (dir: string): string[] => (readdirSync(dir, { recursive: true }) as string[]).toSorted();

/** Both ways to open it refuse it by name, and leave everything as it was. */
async function expectRefused(dir: string, feature: string): Promise<void> {
  const before = everything(dir);
  for (const open of [openRepository(dir), openPortableRepository({ fs: nodeFs, dir })]) {
    await expect(open).rejects.toThrow(UnsupportedRepository);
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

describe('a repository whose format is not spoken is refused by name and left alone', () => {
  test('one of sha256 objects, made by git itself', async () => {
    await expectRefused(createTemporaryRepository({ objectFormat: 'sha256' }).dir, 'objectFormat sha256');
  });

  test.each([
    ['refStorage', 'reftable', 'refStorage reftable'],
    ['compatObjectFormat', 'sha256', 'compatObjectFormat sha256'],
    ['partialClone', 'origin', 'partialClone of origin'],
    ['somethingNew', 'true', "the extension 'somethingnew'"],
  ])('one with extensions.%s=%s', async (key, value, feature) => {
    await expectRefused(withExtension(key, value).dir, feature);
    await expectRefused(withExtension(key, value, '0').dir, feature);
  });

  test('one of a version that is not known', async () => {
    await expectRefused(withExtension('noop', 'true', '2').dir, 'repositoryFormatVersion 2');
  });

  test('a partial clone, made by git itself', async () => {
    const source = createTemporaryRepository();
    source.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    source.git('config', 'uploadpack.allowFilter', 'true');
    const clone = join(createTemporaryFolder(), 'clone');
    runGit(source.dir, ['clone', '--quiet', '--filter=blob:none', `file://${source.dir}`, clone]);
    await expectRefused(clone, 'partialClone of origin');
  });

  test('a linked worktree of such a repository', async () => {
    const repository = createTemporaryRepository({ objectFormat: 'sha256' });
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    const linked = join(createTemporaryFolder(), 'linked');
    repository.git('worktree', 'add', '--quiet', linked);
    await expect(openRepository(linked)).rejects.toThrow('objectFormat sha256');
  });
});

describe('a repository whose extensions change nothing for us is opened', () => {
  test.each([
    ['noop', 'true'],
    ['preciousObjects', 'true'],
    ['worktreeConfig', 'true'],
    ['relativeWorktrees', 'true'],
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
