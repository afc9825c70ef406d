import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runGit } from '../../../src/git/process/run-git.ts';
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
