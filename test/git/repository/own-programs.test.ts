import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownPrograms, ownProgramsFor, type GitUse } from '../../../src/git/repository/own-programs.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../../helpers/temporary-repository.ts';

function createScene() {
  const { dir, git } = createTemporaryRepository();
  const home = createTemporaryFolder();
  const env = { ...isolatedGitEnvironment, HOME: home };
  const location = { gitDir: `${dir}/.git`, commonDir: `${dir}/.git`, workTree: dir };
  const configure = (text: string, file = '.git/config'): void => {
    mkdirSync(join(dir, file, '..'), { recursive: true });
    appendFileSync(join(dir, file), `${text}\n`);
  };
  return { dir, git, home, configure, location, names: () => ownPrograms(location, env).map(({ name }) => name), env };
}

test.each<[string, string, GitUse]>([
  ['[remote "Up.x"]\nuploadpack = x', 'remote.Up.x.uploadpack', 'remote'],
  ['[remote "o"]\nreceivePack = x', 'remote.o.receivepack', 'remote'],
  ['[remote "o"]\nvcs = x', 'remote.o.vcs', 'remote'],
  ['[CORE]\nSSHCommand = "x y"', 'core.sshcommand', 'remote'],
  ['[core]\naskPass = x', 'core.askpass', 'remote'],
  ['[core] gitProxy = x', 'core.gitproxy', 'remote'],
  ['[credential]\nhelper = !x', 'credential.helper', 'remote'],
  ['[credential "https://h.example/a.b"]\nhelper = x', 'credential.https://h.example/a.b.helper', 'remote'],
  ['[filter "a\\"b c"]\nclean = x', 'filter.a"b c.clean', 'files'],
  ['[filter.old]\nsmudge = x', 'filter.old.smudge', 'files'],
  ['[filter "lfs"]\nprocess = git-lfs filter-process', 'filter.lfs.process', 'files'],
  ['[lfs "customTransfer.a"]\npath = x', 'lfs.customTransfer.a.path', 'files'],
  ['[lfs "extension.a"]\nsmudge = x', 'lfs.extension.a.smudge', 'files'],
  ['[merge "own"]\ndriver = x', 'merge.own.driver', 'merge'],
  ['[gpg]\nprogram = x', 'gpg.program', 'sign'],
  ['[gpg "ssh"]\ndefaultKeyCommand = x', 'gpg.ssh.defaultkeycommand', 'sign'],
])('%j names a program', (text, name, use) => {
  const { configure, names, location, env } = createScene();
  expect(names()).toEqual([]);
  configure(text);
  expect(names()).toEqual([name]);
  const other: GitUse = use === 'files' ? 'remote' : 'files';
  expect([use, other].map((one) => ownProgramsFor(one, location, env).length)).toEqual([1, 0]);
});

test('what runs nothing for uwf is not asked for', () => {
  const { configure, names, home } = createScene();
  writeFileSync(join(home, '.gitconfig'), '[core]\nsshCommand = x\n[filter "lfs"]\nclean = x\n');
  configure('[core]\npager = x\neditor = x\nfsmonitor = x\nhooksPath = x\n[credential]\nhelper =\nuseHttpPath = true');
  configure(
    '[filter "lfs"]\nrequired = true\n[remote "o"]\nurl = ../elsewhere\nfetch = +refs/heads/*:refs/remotes/o/*',
  );
  expect(names()).toEqual([]);
});

test('programs that reach a remote run for files, too, where the user has git-lfs', () => {
  const { configure, home, location, env } = createScene();
  configure('[core]\nsshCommand = x');
  expect(ownProgramsFor('files', location, env)).toEqual([]);
  const users = join(home, '.gitconfig');
  writeFileSync(users, '[filter "lfs"]\nprocess = git-lfs filter-process\n');
  expect(ownProgramsFor('files', location, { ...env, GIT_CONFIG_GLOBAL: users })).toMatchObject([
    { name: 'core.sshcommand' },
  ]);
});

test('includes are followed from where they stand, whatever their condition', () => {
  const { configure, names, home } = createScene();
  configure('[include]\npath = more/first');
  configure('[includeIf "onbranch:never"]\npath = ~/second');
  configure('[include]\npath = missing');
  configure('[include]\npath = third', '.git/more/first');
  configure('[core]\nsshCommand = x', '.git/more/third');
  writeFileSync(join(home, 'second'), '[filter "a"]\nclean = x\n');
  expect(names()).toEqual(['core.sshcommand', 'filter.a.clean']);
});

test('an include that cannot be followed counts itself, and for every use', () => {
  const { configure, location, env } = createScene();
  configure('[include]\npath = circle', '.git/circle');
  configure('[include]\npath = circle');
  configure('[includeIf "hasconfig:remote.*.url:x"]\npath = ~other/config');
  configure('[include]\npath = hooks');
  const found = ownPrograms(location, env).map(({ name, value }) => [name, value]);
  expect(found).toEqual([
    ['include.path', 'circle'],
    ['includeif.hasconfig:remote.*.url:x.path', '~other/config'],
    ['include.path', 'hooks'],
  ]);
  expect([ownProgramsFor('files', location, env), ownProgramsFor('remote', location, env)]).toEqual([
    ownPrograms(location, env),
    ownPrograms(location, env),
  ]);
});

test('the configuration of every work tree counts where they have their own', () => {
  const { git, dir, names } = createScene();
  git('commit', '-q', '--allow-empty', '-m', 'first');
  const linked = join(createTemporaryFolder(), 'linked');
  git('worktree', 'add', '-q', linked);
  writeFileSync(join(dir, '.git/worktrees/linked/config.worktree'), '[filter "there"]\nclean = x\n');
  writeFileSync(join(dir, '.git/config.worktree'), '[filter "main"]\nclean = x\n');
  expect(names()).toEqual([]);
  git('config', 'extensions.worktreeConfig', 'true');
  expect(names()).toEqual(['filter.main.clean', 'filter.there.clean']);
});

test.each([
  ['a path', '[remote "o"]\nurl = ./docs/bare'],
  ['a push URL', '[remote "o"]\nurl = ssh://h.example/x\npushurl = docs/bare'],
  ['a rewritten URL', '[url "docs/"]\ninsteadOf = own:\n[remote "o"]\nurl = own:bare'],
  ['the repository itself', '[remote "o"]\nurl = .'],
])('a remote in the repository counts: %s', (_, text) => {
  const { configure, names, dir } = createScene();
  mkdirSync(join(dir, 'docs/bare'), { recursive: true });
  configure(text);
  expect(new Set(names())).toEqual(new Set(['remote.o.url']));
});
