import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { GitPlace } from '../../../src/git/process/run-git.ts';
import {
  makeOwnWorkTree,
  type OwnContent,
  removeOwnWorkTree,
  restoreWorkTree,
} from '../../../src/git/worktree/own-work-tree.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

type Scene = TemporaryRepository & { place: GitPlace; content: OwnContent; folder: string };

async function createScene(): Promise<Scene> {
  const temporary = createTemporaryRepository();
  const { dir, git } = temporary;
  writeFileSync(join(dir, 'tracked'), 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'code');
  const { location } = await temporary.open();
  if (location === undefined) throw new Error('the repository is on a disk');
  const [commit, tree] = ['HEAD', 'HEAD^{tree}'].map((name) => parseObjectId(git('rev-parse', name)));
  if (commit === undefined || tree === undefined) throw new Error('there is a commit');
  const branches = [parseRefName('refs/heads/own')];
  const content = { thread: 't', at: commit, commit, tree, branches, bring: undefined, equip: async () => {} };
  return { ...temporary, place: { location, env }, content, folder: join(realpathSync(createTemporaryFolder()), 't') };
}

/** A `git` that completes the registration `other` after the first command that failed at it. */
function gitThatMeets(registration: string): Record<string, string> {
  const folder = createTemporaryFolder();
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh\n'${real}' "$@" || { code=$?; echo ../.. > '${registration}/commondir'; exit $code; }\n`;
  writeFileSync(join(folder, 'git'), script);
  chmodSync(join(folder, 'git'), 0o755);
  return { ...env, PATH: `${folder}:${env['PATH']}` };
}

test('a work tree is made while another process is registering one', async () => {
  const { dir, git, place, content, folder } = await createScene();
  git('worktree', 'add', '-q', '--detach', `${dir}-other`);
  const other = git('-C', `${dir}-other`, 'rev-parse', '--absolute-git-dir');
  // git makes the file, and then writes it.
  writeFileSync(join(other, 'commondir'), '');
  await makeOwnWorkTree({ ...place, env: gitThatMeets(other) }, folder, content);
  expect(readFileSync(join(folder, 'tracked'), 'utf8')).toBe('one\n');
});

test('removing a work tree leaves the registration of one that is on no mounted disk', async () => {
  const { dir, git, place, content, folder } = await createScene();
  git('worktree', 'add', '-q', '-b', 'persons', `${dir}-persons`);
  await makeOwnWorkTree(place, folder, content);
  renameSync(`${dir}-persons`, `${dir}-unmounted`);
  await removeOwnWorkTree(place, folder, [{ branch: parseRefName('refs/heads/own'), commit: content.commit }]);
  expect(existsSync(folder)).toBe(false);
  expect(git('branch', '--list', 'own')).toBe('');
  renameSync(`${dir}-unmounted`, `${dir}-persons`);
  expect(git('-C', `${dir}-persons`, 'branch', '--show-current')).toBe('persons');
  expect(git('worktree', 'list').split('\n')).toHaveLength(2);
});

test('a work tree is made again where one was deleted as a folder, but not in place of one of a person or a locked one', async () => {
  const { dir, git, place, content, folder } = await createScene();
  await restoreWorkTree(place, content, folder);
  rmSync(folder, { recursive: true });
  await restoreWorkTree(place, content, folder);
  expect(readFileSync(join(folder, 'tracked'), 'utf8')).toBe('one\n');
  git('worktree', 'lock', folder);
  rmSync(folder, { recursive: true });
  await expect(restoreWorkTree(place, content, folder)).rejects.toThrow('locked');
  git('worktree', 'add', '-q', '--detach', `${dir}-persons`);
  rmSync(`${dir}-persons`, { recursive: true });
  await expect(restoreWorkTree(place, content, `${dir}-persons`)).rejects.toThrow('already registered');
  expect(git('worktree', 'list').split('\n')).toHaveLength(3);
});

test('a folder that another process has filled stays as it is', async () => {
  const { place, content, folder } = await createScene();
  mkdirSync(folder);
  writeFileSync(join(folder, 'only-here'), 'x');
  await expect(makeOwnWorkTree(place, folder, content)).rejects.toMatchObject({ code: 'folder-in-use' });
  expect(readFileSync(join(folder, 'only-here'), 'utf8')).toBe('x');
});

test('a work tree that could not be equipped is gone with its branch', async () => {
  const { git, place, content, folder } = await createScene();
  const equip = (): Promise<void> => Promise.reject(new Error('no packages'));
  await expect(makeOwnWorkTree(place, folder, { ...content, equip })).rejects.toThrow('no packages');
  expect(existsSync(folder)).toBe(false);
  expect(git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(git('branch', '--list', 'own')).toBe('');
});
