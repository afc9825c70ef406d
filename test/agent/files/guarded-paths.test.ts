import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { type Access, type Guard, GuardedPaths } from '../../../src/agent/files/working-folder.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

const env = isolatedGitEnvironment;

function write(path: string, text = 'x'): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

async function verdicts(cwd: string, access: Access, paths: readonly string[], variables = env): Promise<Guard[]> {
  const guarded = await GuardedPaths.at(cwd, variables);
  return paths.map((path) => guarded.guardOf(join(cwd, path), access));
}

async function expectAll(
  expected: Guard,
  cwd: string,
  access: Access,
  paths: readonly string[],
  variables = env,
): Promise<void> {
  const found = await verdicts(cwd, access, paths, variables);
  expect(Object.fromEntries(paths.map((path, at) => [path, found[at]]))).toEqual(
    Object.fromEntries(paths.map((path) => [path, expected])),
  );
}

/** A folder that git takes for a bare repository. */
function bareIn(repository: TemporaryRepository, name: string): void {
  repository.git('init', '-q', '--bare', name);
}

describe('what is git’s is refused, to read and to write', () => {
  const names = ['.git', '.git/config', '.GIT/hooks/x', 'a/b/.git', 'a/.git /x', '.git./x', 'git~1/x', '.gi\u200ct/x'];

  test.each(['read', 'write'] as const)('by its name: %s', async (access) => {
    const { dir } = createTemporaryRepository();
    await expectAll('refused', dir, access, names);
    await expectAll('free', dir, access, ['.gitignore', '.github/x', 'git/x', 'a', '.gitattributes', 'HEAD', 'refs/x']);
  });

  test('where there is no repository at all', async () => {
    await expectAll('refused', createTemporaryFolder(), 'write', names);
  });

  test('a git folder that lies in the work tree under another name', async () => {
    const dir = createTemporaryFolder();
    const repository = createTemporaryRepository();
    repository.git('init', '-q', '--separate-git-dir', join(dir, 'store'), dir);
    await expectAll('refused', dir, 'read', [
      '.git',
      'store',
      'store/config',
      'store/hooks/x',
      'store/uwf/config.yaml',
    ]);
  });

  test('of a linked work tree its file, its folder and the common folder', async () => {
    const repository = createTemporaryRepository();
    repository.git('commit', '-q', '--allow-empty', '-m', 'x');
    repository.git('worktree', 'add', '-q', join(repository.dir, 'linked'));
    await expectAll('refused', join(repository.dir, 'linked'), 'read', [
      '.git',
      '../.git/config',
      '../.git/worktrees/linked/HEAD',
    ]);
    await expectAll('refused', repository.dir, 'read', ['linked/.git']);
  });

  test('and a work tree among what is git’s is one all the same', async () => {
    const repository = createTemporaryRepository({ bare: true });
    const commit = repository.git('commit-tree', '-m', 'x', repository.git('hash-object', '-wt', 'tree', '/dev/null'));
    repository.git('worktree', 'add', '-q', '--detach', join(repository.dir, 'main'), commit);
    const cwd = join(repository.dir, 'main');
    await expectAll('free', cwd, 'write', ['a', 'src/b']);
    await expectAll('refused', cwd, 'write', ['.git', '../config', '../hooks/x', '../worktrees/main/HEAD']);
    await expectAll('refused', repository.dir, 'read', ['config', 'a', '.']);
  });

  test('an embedded bare repository, and one that the write would complete', async () => {
    const repository = createTemporaryRepository();
    const { dir } = repository;
    bareIn(repository, 'fixtures/bare');
    await expectAll('refused', dir, 'read', ['fixtures/bare', 'fixtures/bare/config', 'fixtures/bare/hooks/a/b']);
    await expectAll('free', dir, 'read', ['fixtures', 'fixtures/other']);
    write(join(dir, 'sub/HEAD'));
    write(join(dir, 'sub/objects/x'));
    await expectAll('free', dir, 'write', ['sub/config', 'sub/HEAD']);
    await expectAll('refused', dir, 'write', ['sub/refs', 'sub/refs/heads/x', 'sub/commondir', 'sub/REFS/x']);
    write(join(dir, 'other/commondir'));
    await expectAll('refused', dir, 'write', ['other/HEAD', 'other/head']);
  });

  test('a submodule’s file and folder', async () => {
    const inner = createTemporaryRepository();
    inner.git('commit', '-q', '--allow-empty', '-m', 'x');
    const repository = createTemporaryRepository();
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, 'sub');
    await expectAll('refused', repository.dir, 'read', ['sub/.git', '.git/modules/sub/config']);
    await expectAll('free', repository.dir, 'write', ['sub/file']);
    await expectAll('refused', join(repository.dir, 'sub'), 'read', ['.git', '../.git/modules/sub/config']);
  });

  test('git’s passwords and uwf’s folders of a user whose home is the work tree', async () => {
    const { dir } = createTemporaryRepository();
    const home = { ...env, HOME: dir };
    const paths = ['.git-credentials', '.config/git/credentials', '.netrc', '.config/uwf/config.yaml'];
    await expectAll('refused', dir, 'read', [...paths, '.local/state/uwf/trust/x'], home);
    await expectAll('asked', dir, 'read', ['.gitconfig', '.config/git/config'], home);
    await expectAll('free', dir, 'write', ['.config/other'], home);
  });

  test('uwf’s folders of the user around the thread’s own work tree, which is among them', async () => {
    const repository = createTemporaryRepository();
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
    const home = { ...env, HOME: repository.dir };
    const trees = join(repository.dir, '.local/state/uwf/worktrees');
    const own = join(trees, 'shop', 'own');
    for (const name of ['own', 'other']) {
      repository.git('worktree', 'add', '--quiet', '--detach', join(trees, 'shop', name));
    }
    await expectAll('free', own, 'write', ['x', 'src/x'], home);
    await expectAll('refused', own, 'read', ['.git', '../other/x', '../x', '../../../trust/x'], home);
    await expectAll('asked', own, 'write', ['.uwf/config.yaml'], home);
    // Who works above the work trees works in none of them.
    await expectAll('refused', repository.dir, 'read', ['.local/state/uwf/worktrees/shop/own/x'], home);
  });

  test('a file of passwords that the configuration names', async () => {
    const repository = createTemporaryRepository();
    repository.git('config', 'credential.helper', `store --file ${repository.dir}/passwords`);
    await expectAll('refused', repository.dir, 'read', ['passwords']);
  });
});

describe('what is asked for', () => {
  test('to write .uwf and folders of hooks', async () => {
    const repository = createTemporaryRepository();
    repository.git('config', 'core.hooksPath', 'tools/Hooks');
    const paths = ['.uwf', '.uwf/config.yaml', '.UWF/x', 'sub/.uwf/x', '.husky/pre-commit', 'tools/hooks/pre-push'];
    await expectAll('asked', repository.dir, 'write', paths);
    await expectAll('free', repository.dir, 'read', paths);
    await expectAll('free', repository.dir, 'write', ['tools/x', '.uwfx', 'uwf/x']);
  });

  test('.uwf under the name that it leads to', async () => {
    const { dir } = createTemporaryRepository();
    write(join(dir, 'conf/config.yaml'));
    symlinkSync('conf', join(dir, '.uwf'));
    await expectAll('asked', dir, 'write', ['conf/config.yaml']);
  });

  test('to read or write files that git takes for configuration, there or not yet', async () => {
    const repository = createTemporaryRepository();
    repository.git('config', 'include.path', '../team.gitconfig');
    repository.git('config', 'includeIf.gitdir:/x.path', join(repository.dir, 'later'));
    write(join(repository.dir, 'team.gitconfig'), '[include]\npath = more/nested\n');
    for (const access of ['read', 'write'] as const) {
      await expectAll('asked', repository.dir, access, ['team.gitconfig', 'later', 'more/nested']);
    }
  });
});

describe('opening', () => {
  async function opened(path: string, access: Access, before = (): void => {}): Promise<string> {
    const guarded = await GuardedPaths.at(dirname(path), env);
    before();
    const file = await guarded.open(path, access);
    const text = access === 'read' ? await file.readFile('utf8') : '';
    if (access === 'write') await file.writeFile('new');
    await file.close();
    return text;
  }

  test('reads, and makes folders and files', async () => {
    const dir = createTemporaryFolder();
    write(join(dir, 'a'), 'text that is longer');
    expect(await opened(join(dir, 'a'), 'read')).toBe('text that is longer');
    await opened(join(dir, 'a'), 'write');
    expect(readFileSync(join(dir, 'a'), 'utf8')).toBe('new');
    const guarded = await GuardedPaths.at(dir, env);
    await (await guarded.open(join(dir, 'b/c/d'), 'write')).close();
    expect(existsSync(join(dir, 'b/c/d'))).toBe(true);
  });

  test.each(['read', 'write'] as const)(
    'a folder that was exchanged for a link is not followed: %s',
    async (access) => {
      const { dir } = createTemporaryRepository();
      write(join(dir, '.git/hooks/deep/x'), 'kept');
      write(join(dir, 'a/deep/x'), 'judged');
      const guarded = await GuardedPaths.at(dir, env);
      renameSync(join(dir, 'a'), join(dir, 'b'));
      symlinkSync('.git/hooks', join(dir, 'a'));
      for (const path of ['a/x', 'a/deep/x', ...(access === 'write' ? ['a/new/x'] : [])]) {
        await expect(guarded.open(join(dir, path), access), path).rejects.toMatchObject({ kind: 'moved' });
      }
      expect(readFileSync(join(dir, '.git/hooks/deep/x'), 'utf8')).toBe('kept');
      for (const made of ['x', 'new']) expect(existsSync(join(dir, '.git/hooks', made))).toBe(false);
    },
  );

  test.each(['read', 'write'] as const)('nor is a file that was: %s', async (access) => {
    const { dir } = createTemporaryRepository();
    write(join(dir, 'a'));
    const exchange = (): void => {
      rmSync(join(dir, 'a'));
      symlinkSync('.git/config', join(dir, 'a'));
    };
    const before = readFileSync(join(dir, '.git/config'), 'utf8');
    await expect(opened(join(dir, 'a'), access, exchange)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(readFileSync(join(dir, '.git/config'), 'utf8')).toBe(before);
  });

  test.each(['.git/config', '.git/hooks/pre-commit', '.git/uwf/config.yaml', '.uwf/config.yaml'])(
    'a second name of %s is refused, and what it names stays',
    async (path) => {
      const { dir } = createTemporaryRepository();
      write(join(dir, path), '[core]\n');
      linkSync(join(dir, path), join(dir, 'harmless'));
      for (const access of ['read', 'write'] as const) {
        await expect(opened(join(dir, 'harmless'), access)).rejects.toMatchObject({ kind: 'refused' });
      }
      expect(readFileSync(join(dir, path), 'utf8')).toBe('[core]\n');
    },
  );

  test('other second names are files like any', async () => {
    const dir = realpathSync(createTemporaryFolder());
    write(join(dir, 'a'), 'text');
    linkSync(join(dir, 'a'), join(dir, 'b'));
    expect(await opened(join(dir, 'b'), 'read')).toBe('text');
  });

  test('what is refused is not opened, whoever judged it', async () => {
    const { dir } = createTemporaryRepository();
    await expect(opened(join(dir, '.git/config'), 'read')).rejects.toMatchObject({ kind: 'refused' });
  });
});
