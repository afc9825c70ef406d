import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { workingFolder } from '../../../src/engine/isolation/work-place.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';

/** A repository with a folder, a linked work tree beside it, a folder elsewhere, and links to all of them. */
async function createPlace(options: { bare?: boolean } = {}) {
  const temporary = createTemporaryRepository(options);
  const { dir } = temporary;
  const elsewhere = createTemporaryFolder();
  const linked = join(createTemporaryFolder(), 'linked');
  if (!options.bare) {
    temporary.git('commit', '-q', '--allow-empty', '-m', 'first');
    temporary.git('worktree', 'add', '-q', '--detach', linked);
    mkdirSync(join(dir, 'docs'));
    symlinkSync('docs', join(dir, 'inside'));
    symlinkSync(elsewhere, join(dir, 'outside'));
    symlinkSync(join(elsewhere, 'later'), join(dir, 'dangling'));
    symlinkSync('around', join(dir, 'around'));
    symlinkSync('.git/hooks', join(dir, 'hooks'));
  }
  const repository = await temporary.open();
  const find = (location: string | undefined, cwd?: string): string =>
    workingFolder({ cwd: repository.location?.workTree ?? dir, repository }, 'writer', { cwd, location });
  return { dir, elsewhere, linked, find };
}

describe('where a role works', () => {
  test('is the work tree, a folder of it, or a work tree that is linked to it', async () => {
    const { dir, linked, find } = await createPlace();
    expect(find(undefined)).toBe(dir);
    expect(find('  ')).toBe(dir);
    expect(find('.')).toBe(dir);
    expect(find('docs')).toBe(join(dir, 'docs'));
    expect(find(undefined, 'docs')).toBe(join(dir, 'docs'));
    expect(find('docs', 'elsewhere')).toBe(join(dir, 'docs'));
    expect(find(`${dir}/docs/../docs/`)).toBe(join(dir, 'docs'));
    expect(find('inside')).toBe(join(dir, 'docs'));
    expect(find('docs/not/yet')).toBe(join(dir, 'docs/not/yet'));
    expect(find('docs/..not')).toBe(join(dir, 'docs/..not'));
    expect(find(linked)).toBe(linked);
    expect(find(join(linked, 'deep'))).toBe(join(linked, 'deep'));
  });

  test('is nowhere else, and nowhere that belongs to git', async () => {
    const { find } = await createPlace();
    const ways = ['/', '/etc', '..', 'docs/../..', 'docs/../../elsewhere', 'inside/../../x', 'docs\0/../..'];
    const links = ['outside', 'outside/deeper', 'dangling', 'around', 'hooks'];
    const gits = ['.git', '.git/hooks', '.GIT/hooks', 'docs/.git/x'];
    for (const folder of [...ways, ...links, ...gits]) {
      const refusal = { code: 'working-folder-outside', kind: 'data', role: 'writer', folder };
      expect(() => find(folder), folder).toThrow(expect.objectContaining(refusal));
      expect(() => find(undefined, folder), folder).toThrow(/^'cwd' of writer names /);
    }
  });

  test('is no folder that calls itself a work tree of the repository', async () => {
    const { dir, elsewhere, find } = await createPlace();
    writeFileSync(join(elsewhere, '.git'), `gitdir: ${join(dir, '.git')}\n`);
    expect(() => find(elsewhere)).toThrow(/no folder of the work tree/);
  });

  test('is not among the files of a bare repository', async () => {
    const { dir, find } = await createPlace({ bare: true });
    expect(find(undefined)).toBe(dir);
    expect(() => find('hooks')).toThrow(/no folder of the work tree/);
  });
});
