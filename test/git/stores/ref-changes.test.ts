import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchRefs } from '../../../src/git/stores/disk/read-refs.ts';
import { failFs } from '../../helpers/failing-fs.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

/** Longer than a file system's clock may stand still. */
const settle = (): Promise<void> => sleep(80);

test('every change of a ref that is watched is noticed, and nothing else for long', async () => {
  const { git, dir } = createTemporaryRepository();
  git('commit', '--quiet', '--allow-empty', '-m', 'one');
  git('commit', '--quiet', '--allow-empty', '-m', 'two');
  const [two = '', one = ''] = git('rev-list', 'HEAD').split('\n');
  const haveChanged = watchRefs(`${dir}/.git`, ['refs/threads/', 'refs/history/']);
  expect(haveChanged()).toBe(true);
  for (const change of [
    ['update-ref', 'refs/threads/A', one],
    ['update-ref', 'refs/threads/A', two],
    ['update-ref', 'refs/threads/A', one],
    ['update-ref', 'refs/history/2026-11-21/B', one],
    ['update-ref', 'refs/history/2026-11-21/B', two],
    ['pack-refs', '--all', '--prune'],
    ['update-ref', 'refs/threads/A', two],
    ['update-ref', '-d', 'refs/threads/A'],
  ]) {
    git(...change);
    expect([change, haveChanged()]).toEqual([change, true]);
    await settle();
    // Once more, if the first look came within the clock's step; then it is quiet.
    haveChanged();
    expect([change, haveChanged()]).toEqual([change, false]);
  }
});

test('what changes right after a look is noticed by the next', () => {
  const { git, dir } = createTemporaryRepository();
  git('commit', '--quiet', '--allow-empty', '-m', 'one');
  const haveChanged = watchRefs(`${dir}/.git`, ['refs/threads/']);
  for (let number = 0; number < 20; number += 1) {
    haveChanged();
    git('update-ref', `refs/threads/${number}`, 'HEAD');
    expect(haveChanged()).toBe(true);
  }
});

test('a folder that is removed while it is looked at is none', () => {
  const { git, dir } = createTemporaryRepository();
  git('commit', '--quiet', '--allow-empty', '-m', 'one');
  git('update-ref', 'refs/history/2026-11-21/B', 'HEAD');
  const haveChanged = watchRefs(`${dir}/.git`, ['refs/history/']);
  failFs('readdirSync', { code: 'ENOENT', where: (path) => path.endsWith('2026-11-21') });
  expect(haveChanged()).toBe(true);
});
