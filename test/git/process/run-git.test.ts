import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import { endGitApart, keepGitApart, runGit, spawnGit } from '../../../src/git/process/run-git.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

/** A run of a program in git's place; what it starts holds its pipes. */
function inPlaceOfGit(script: string): Pick<Parameters<typeof runGit>[0], 'location' | 'env'> {
  const folder = createTemporaryFolder();
  writeFileSync(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = { ...isolatedGitEnvironment, PATH: `${folder}:${isolatedGitEnvironment['PATH']}` };
  return { location: { gitDir: folder, commonDir: folder, workTree: undefined }, env };
}

test.each([
  ['prints', 'yes & wait'],
  ['says', 'yes >&2 & wait'],
  ['says in one line', 'yes | tr -d "\\n" >&2 & wait'],
])('a git that %s without end is ended', async (_, script) => {
  const lines: string[] = [];
  const run = { ...inPlaceOfGit(script), args: ['x'], onProgress: (line: string) => void lines.push(line) };
  const failed = await runGit({ ...run, maxOutputBytes: 1024 * 1024 }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'git-failed', said: expect.stringContaining('more than is to be held') });
  expect(lines.every(({ length }) => length < 256 * 1024)).toBe(true);
});

test('a git that says nothing is ended, and one that goes on saying something is not', async () => {
  const silent = { ...inPlaceOfGit('sleep 5 & wait'), args: ['x'], speaksWithinMs: 300 };
  await expect(runGit(silent)).rejects.toThrow('nothing came in 0.3 s');
  const speaking = { ...inPlaceOfGit('echo here >&2; sleep 1; echo done'), args: ['x'], speaksWithinMs: 800 };
  expect((await runGit(speaking)).toString()).toBe('done\n');
});

test('a git that only reads may reach nothing, whatever it inherits', async () => {
  const { location, env } = inPlaceOfGit('echo "$GIT_ALLOW_PROTOCOL $GIT_NO_LAZY_FETCH"');
  const inherited = { ...env, GIT_ALLOW_PROTOCOL: 'ext', GIT_NO_LAZY_FETCH: '0' };
  expect((await runGit({ location, env: inherited, args: ['x'] })).toString()).toBe('none 1\n');
  expect((await runGit({ location, env: inherited, args: ['x'], isForRemote: true })).toString()).toBe('ext 0\n');
  expect((await runGit({ location, env, args: ['x'], isForRemote: true })).toString()).toBe(' \n');
});

const killedOnce = '[ -e "$0.ran" ] && exec echo done; touch "$0.ran"; kill -INT $$';

test('a git that only reads is run again if a signal ends it, once', async () => {
  expect((await runGit({ ...inPlaceOfGit(killedOnce), args: ['ls-files'] })).toString()).toBe('done\n');
  const failed = runGit({ ...inPlaceOfGit('kill -INT $$'), args: ['ls-files'] });
  await expect(failed).rejects.toMatchObject({ code: 'git-ended', message: 'git ls-files was ended by SIGINT' });
});

test('a git that changes something, or talks to a remote, is not run again, and the signal is named', async () => {
  const adding = runGit({ ...inPlaceOfGit(killedOnce), args: ['add'] });
  await expect(adding).rejects.toMatchObject({ code: 'git-ended', message: 'git add was ended by SIGINT' });
  const fetching = runGit({ ...inPlaceOfGit(killedOnce), args: ['fetch'], isForRemote: true });
  await expect(fetching).rejects.toMatchObject({ code: 'git-failed', said: '\nfatal: git was ended by SIGINT' });
});

// Commands of other tests keep it apart in this process.
beforeEach(() => keepGitApart('none'));

test('a git that runs apart is in a group of its own, unless it may ask or talks to a remote', async () => {
  const run = { ...inPlaceOfGit('ps -o pgid= -p $$; ps -o pgid= -p $PPID'), args: ['x'] };
  const isInGroup = async (more: object): Promise<boolean> => {
    const [own, parents] = (await runGit({ ...run, ...more })).toString().trim().split(/\s+/);
    return own === parents;
  };
  const all = async (): Promise<boolean[]> => [
    await isInGroup({}),
    await isInGroup({ isForRemote: true }),
    await isInGroup({ mayAsk: true }),
  ];
  expect(await all()).toEqual([true, true, true]);
  keepGitApart('local');
  expect(await all()).toEqual([false, true, true]);
  keepGitApart('all');
  expect(await all()).toEqual([false, false, true]);
});

test('one in the background is never in the group, and is not ended with those that run apart', async () => {
  for (const which of ['none', 'all'] as const) {
    keepGitApart(which);
    const apart = spawnGit({ ...inPlaceOfGit('sleep 60'), args: ['x'] });
    const background = spawnGit({
      ...inPlaceOfGit('ps -o pgid= -p $$; sleep 0.3; echo done'),
      args: ['x'],
      isInBackground: true,
    });
    const said = text(background.stdout);
    await once(background.stdout, 'readable');
    endGitApart();
    if (which === 'none') apart.kill();
    expect(await once(apart, 'exit')).toEqual([null, 'SIGTERM']);
    expect((await said).trim().split(/\s+/)).toEqual([String(background.pid), 'done']);
  }
});
