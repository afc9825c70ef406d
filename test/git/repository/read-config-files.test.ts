import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listGitVariables } from '../../../src/git/process/git-variables.ts';
import { readConfigFiles } from '../../../src/git/repository/read-config-files.ts';
import { recordGit } from '../../helpers/recorded-git.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../../helpers/temporary-repository.ts';

const { GIT_CONFIG_GLOBAL: _global, GIT_CONFIG_NOSYSTEM: _noSystem, ...isolated } = isolatedGitEnvironment;

/** A folder in which `git` is a folder. */
function noProgram(): string {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, 'git'));
  return folder;
}

/** A home with configuration in both places that git looks in, the system's, and a repository. */
function createScene() {
  const home = createTemporaryFolder();
  mkdirSync(join(home, '.config/git'), { recursive: true });
  const { dir, git } = createTemporaryRepository();
  const files = {
    system: join(home, 'system'),
    xdg: join(home, '.config/git/config'),
    user: join(home, '.gitconfig'),
    local: join(dir, '.git/config'),
    worktree: join(dir, '.git/config.worktree'),
  };
  git('config', 'extensions.worktreeConfig', 'true');
  const env = { ...isolated, HOME: home, GIT_CONFIG_SYSTEM: files.system };
  const location = { gitDir: `${dir}/.git`, commonDir: `${dir}/.git`, workTree: dir };
  return { env, files, location, git, dir };
}

const line = fc.oneof(
  fc.constantFrom(
    '[remote "origin"]',
    '[remote "Or.Igin\\"x"]',
    '[remote.Old]',
    '[remote.Older "Origin"]',
    '[remote "a\\\u2028b"]',
    '[url "https://one/"]',
    '[core]',
    '# a comment',
    '; another',
    'url = ../there.git',
    '\tURL="a \\"quoted\\" one" # and a comment',
    'pushurl = a\\\n b',
    'mirror',
    'fetch = +refs/heads/*:refs/remotes/origin/*',
    'insteadOf = ex:',
    'empty =',
    'spaces =   in  the   middle   ',
    'tab = a\\tb\\\\c',
  ),
  fc.stringMatching(/^[a-z][a-z0-9-]{0,5} = [ -~]{0,12}$/),
);
/** Rare, since it is left to git. */
const odd = fc.constantFrom('return = a\rb', 'return = a\r', '[include]\npath = other', '[broken');
const lines = fc.array(fc.oneof({ arbitrary: line, weight: 100 }, { arbitrary: odd, weight: 1 }), { maxLength: 8 });
const start = fc.oneof({ arbitrary: fc.constant('[start]'), weight: 30 }, { arbitrary: fc.constant(''), weight: 1 });
const text = fc.tuple(start, lines).map(([first, others]) => `${[first, ...others].join('\n')}\n`);

describe('reading configuration from its files', () => {
  test('gives what git lists, or leaves it to git', async () => {
    const { env, files, location } = createScene();
    let compared = 0;
    const local = `[core]\nrepositoryFormatVersion = 0\n[extensions]\nworktreeConfig = true\n`;
    const property = fc.asyncProperty(
      fc.record({ system: text, xdg: text, user: text, local: text, worktree: text }),
      async (texts) => {
        for (const [name, path] of Object.entries(files)) {
          const written = texts[name as keyof typeof texts];
          writeFileSync(path, name === 'local' ? local + written : written);
        }
        const read = readConfigFiles(location, env);
        const listed = await listGitVariables({ location, env }).catch(() => undefined);
        if (read === undefined) return;
        compared += 1;
        expect(read).toEqual(listed);
      },
    );
    await fc.assert(property, { numRuns: 200 });
    expect(compared).toBeGreaterThan(20);
  });

  test('does so where files are missing, and where the user names another', async () => {
    const { env, location, files } = createScene();
    expect(readConfigFiles(location, env)).toEqual(await listGitVariables({ location, env }));
    writeFileSync(files.user, '[user]\nname = a\n');
    writeFileSync(files.system, '[user]\nname = b\n');
    const elsewhere = join(createTemporaryFolder(), 'config');
    writeFileSync(elsewhere, '[user]\nname = c\n');
    for (const variables of [
      { GIT_CONFIG_GLOBAL: elsewhere },
      { GIT_CONFIG_NOSYSTEM: '1' },
      { XDG_CONFIG_HOME: createTemporaryFolder() },
      { GIT_CONFIG_GLOBAL: '/dev/null' },
    ]) {
      const environment = { ...env, ...variables };
      expect(readConfigFiles(location, environment)).toEqual(await listGitVariables({ location, env: environment }));
    }
  });

  test('passes over places that cannot be looked at, as where git is started', () => {
    const { env, location } = createScene();
    const loop = join(createTemporaryFolder(), 'loop');
    symlinkSync(loop, loop);
    for (const place of [loop, `/${'x'.repeat(5_000)}`, noProgram()]) {
      expect(readConfigFiles(location, { ...env, PATH: `${place}:${isolated['PATH']}` })).toBeDefined();
    }
  });

  test.each<[string, Readonly<Record<string, string | undefined>>]>([
    ['without a home', { HOME: undefined }],
    ['with variables on the command line', { GIT_CONFIG_PARAMETERS: "'a.b=c'" }],
    ['with variables in the environment', { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.b', GIT_CONFIG_VALUE_0: 'c' }],
    ['where it is told in words whether there is a system', { GIT_CONFIG_NOSYSTEM: 'maybe' }],
    ['with another git than the usual one', { PATH: recordGit().env['PATH'] }],
    ['with one that may be anywhere', { PATH: `:${isolated['PATH']}` }],
    ['without a git', { PATH: '/nonexistent' }],
    ['with a git that is no program', { PATH: noProgram() }],
  ])('leaves it to git %s', (_, variables) => {
    const { env, location } = createScene();
    expect(readConfigFiles(location, env)).toBeDefined();
    expect(readConfigFiles(location, { ...env, ...variables })).toBeUndefined();
  });

  test.each(['[include]\npath = other\n', '[includeIf "gitdir:/"]\npath = other\n', '[core\n', '[core]\n1 = 2\n'])(
    'leaves it to git with %j in one of the files',
    (content) => {
      for (const name of ['user', 'system', 'worktree'] as const) {
        const { env, location, files } = createScene();
        writeFileSync(files[name], content);
        expect(readConfigFiles(location, env)).toBeUndefined();
      }
    },
  );
});
