import { spawnSync } from 'node:child_process';
import { chmodSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  createTemporaryFolder,
  isolatedGitEnvironment,
  runGit,
  temporaryRepositoryAt,
} from '../../helpers/temporary-repository.ts';

const [owner, stranger] = [64_001, 64_002];
const isRoot = process.geteuid?.() === 0;

type Environment = Record<string, string>;
type Verdict = 'ok' | 'dubious-ownership' | 'bare-repository-refused';
type Question = { dir: string; env?: Environment };

function environmentOf(env: Environment = {}): Environment {
  const { GIT_CONFIG_SYSTEM: _, GIT_CONFIG_NOSYSTEM: __, GIT_CONFIG_GLOBAL: ___, ...isolated } = isolatedGitEnvironment;
  return { ...isolated, GIT_CONFIG_SYSTEM: '/dev/null', GIT_CONFIG_GLOBAL: '/dev/null', ...env };
}

function verdictOfGit(uid: number | undefined, { dir, env }: Question): Verdict {
  const user = uid === undefined ? {} : { uid, gid: uid };
  const options = { cwd: dir, env: environmentOf(env), encoding: 'utf8', ...user } as const;
  const { status, stderr } = spawnSync('git', ['rev-parse', '--git-dir'], options);
  if (status === 0) return 'ok';
  if (stderr.includes('dubious ownership')) return 'dubious-ownership';
  if (stderr.includes('safe.bareRepository')) return 'bare-repository-refused';
  throw new Error(stderr);
}

/** What the library says, in one process of that user for all questions. */
function verdictsOfUwf(uid: number | undefined, questions: readonly Question[]): string[] {
  const program = `
    import { openRepository } from ${JSON.stringify(fileURLToPath(new URL('../../../dist/index.js', import.meta.url)))};
    for (const { dir, env } of JSON.parse(process.argv[1])) {
      const verdict = await openRepository(dir, { env }).then(() => 'ok', (error) => error.code ?? String(error));
      console.log(verdict);
    }`;
  const asked = questions.map(({ dir, env }) => ({ dir, env: environmentOf(env) }));
  const user = uid === undefined ? {} : { uid, gid: uid };
  const argv = ['--input-type=module', '-e', program, JSON.stringify(asked)];
  const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: '/', env: {}, encoding: 'utf8', ...user });
  if (stderr !== '') throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}

/** Fails unless git and uwf say the same; gives what they say. */
function expectAsGit(uid: number | undefined, questions: readonly Question[]): Verdict[] {
  const expected = questions.map((question) => verdictOfGit(uid, question));
  expect(verdictsOfUwf(uid, questions)).toEqual(expected);
  return expected;
}

/** All layouts in a folder that everyone may enter. */
function makeLayouts(): Record<
  'top' | 'sub' | 'linked' | 'bare' | 'inBare' | 'dotGit' | 'module' | 'behindLink',
  string
> {
  const folder = createTemporaryFolder();
  chmodSync(folder, 0o755);
  const [top, bare, linked, behindLink] = ['top', 'bare.git', 'linked', 'behind-link'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  runGit(folder, ['init', '--quiet', top]);
  runGit(top, ['commit', '--quiet', '--allow-empty', '-m', 'first']);
  runGit(top, ['worktree', 'add', '--quiet', linked]);
  runGit(folder, ['clone', '--quiet', '--bare', top, bare]);
  runGit(top, ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', bare, 'module']);
  mkdirSync(join(top, 'sub'));
  mkdirSync(behindLink);
  symlinkSync(join(top, '.git'), join(behindLink, '.git'));
  const dotGit = join(top, '.git');
  return {
    top,
    sub: join(top, 'sub'),
    linked,
    bare,
    inBare: join(bare, 'refs'),
    dotGit,
    module: join(top, 'module'),
    behindLink,
  };
}

/** Every way to set variables of git's configuration. */
function configured(dir: string, text: string, pairs: readonly (readonly [string, string])[]): Environment[] {
  const file = join(createTemporaryFolder(), 'config');
  chmodSync(join(file, '..'), 0o755);
  writeFileSync(file, text);
  const home = createTemporaryFolder();
  chmodSync(home, 0o755);
  writeFileSync(join(home, '.gitconfig'), text);
  const byNumber = pairs.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  // What the repository says of itself must not count.
  writeFileSync(join(dir, 'config.added'), text);
  return [
    { GIT_CONFIG_SYSTEM: file },
    { GIT_CONFIG_SYSTEM: file, GIT_CONFIG_NOSYSTEM: '1' },
    { GIT_CONFIG_GLOBAL: file },
    // Without the variable the user's file is read.
    { HOME: home, GIT_CONFIG_GLOBAL: join(home, '.gitconfig') },
    { GIT_CONFIG_COUNT: String(pairs.length), ...Object.fromEntries(byNumber) },
    { GIT_CONFIG_PARAMETERS: pairs.map(([key, value]) => `'${key}'='${value}'`).join(' ') },
  ];
}

describe.skipIf(!isRoot)('a repository is used by whom git lets use it', () => {
  test('whoever owns its folder, its work tree and its .git file', () => {
    const layouts = makeLayouts();
    const { top, linked, bare, module } = layouts;
    const parts = [
      [],
      [top],
      [`${top}/.git`],
      [linked],
      [`${linked}/.git`],
      [`${top}/.git/worktrees/linked`],
      [bare],
      [module],
      [`${module}/.git`],
      [`${top}/.git/modules/module`],
      [layouts.behindLink, `${layouts.behindLink}/.git`],
      [`${top}/.git/config`, `${top}/.git/HEAD`, `${top}/.git/objects`],
    ];
    const seen = new Set<Verdict>();
    for (const base of [0, owner]) {
      spawnSync('chown', ['-R', '-h', `${base}:${base}`, join(top, '..')]);
      for (const paths of parts) {
        for (const path of paths) lchownSync(path, stranger, stranger);
        const questions = Object.values(layouts).map((dir) => ({ dir }));
        const bySudo = questions.map(({ dir }) => ({ dir, env: { SUDO_UID: String(owner) } }));
        for (const uid of [0, owner])
          for (const verdict of expectAsGit(uid, [...questions, ...bySudo])) seen.add(verdict);
        for (const path of paths) lchownSync(path, base, base);
      }
    }
    expect([...seen].toSorted()).toEqual(['dubious-ownership', 'ok']);
  }, 240_000);

  test('what safe.directory and safe.bareRepository say, wherever they are set', () => {
    const layouts = makeLayouts();
    spawnSync('chown', ['-R', '-h', `${owner}:${owner}`, join(layouts.top, '..')]);
    const { top, bare } = layouts;
    const values = [
      [top],
      ['*'],
      [`${top}/`],
      [`${top}/*`],
      [join(top, '..', '*')],
      [`${top}/.git`],
      [bare],
      [join(top, '..')],
      ['%(prefix)/x', '~/x', 'relative'],
      ['*', ''],
      ['', '*'],
      [top, '', bare],
    ];
    const settings = [
      ...values.map((paths) => paths.map((path) => ['safe.directory', path] as const)),
      [['SAFE.Directory', '*']] as const,
      [['safe.bareRepository', 'explicit']] as const,
      [
        ['safe.bareRepository', 'explicit'],
        ['safe.directory', '*'],
      ] as const,
      [
        ['safe.bareRepository', 'explicit'],
        ['safe.bareRepository', 'all'],
        ['safe.directory', '*'],
      ] as const,
    ];
    const seen = new Set<Verdict>();
    for (const pairs of settings) {
      const text = pairs.map(([key, value]) => `[safe]\n\t${key.split('.')[1]} = "${value}"\n`).join('');
      const questions = configured(top, text, pairs).flatMap((env) =>
        [top, join(top, 'sub'), layouts.linked, bare, layouts.dotGit].map((dir) => ({ dir, env })),
      );
      for (const verdict of expectAsGit(0, questions)) seen.add(verdict);
    }
    expect([...seen].toSorted()).toEqual(['bare-repository-refused', 'dubious-ownership', 'ok']);
  }, 240_000);

  test('an odd SUDO_UID, a value without =, and what the repository says of itself', () => {
    const { top, bare } = makeLayouts();
    runGit(top, ['config', 'safe.directory', '*']);
    spawnSync('chown', ['-R', '-h', `${owner}:${owner}`, join(top, '..')]);
    const sudo = ['', ' 64001', '64001 ', '+64001', '0x1', 'root', '64001x', '64002', '0'];
    const folder = createTemporaryFolder();
    writeFileSync(join(folder, 'config'), '[safe]\n\tdirectory = *\n\tdirectory\n');
    const questions = [
      ...sudo.map((uid) => ({ dir: top, env: { SUDO_UID: uid } })),
      { dir: top, env: { GIT_CONFIG_GLOBAL: join(folder, 'config') } },
      { dir: top, env: { GIT_DIR: join(top, '.git') } },
      { dir: folder, env: { GIT_DIR: bare } },
      { dir: bare, env: { GIT_WORK_TREE: folder } },
    ];
    expect([...new Set(expectAsGit(0, questions))].toSorted()).toEqual(['dubious-ownership', 'ok']);
  }, 60_000);

  test.each(['.uwf/config.yaml', '.git/uwf/config.yaml'])('and of another one neither is %s', (name) => {
    const { top } = makeLayouts();
    const file = join(top, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, '');
    const allowed = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: top };
    const questions = [
      { dir: top },
      { dir: join(top, 'sub') },
      { dir: top, env: { GIT_DIR: '.git' } },
      { dir: top, env: allowed },
    ];
    expect(verdictsOfUwf(0, questions)).toEqual(['ok', 'ok', 'ok', 'ok']);
    lchownSync(file, owner, owner);
    const refused = 'dubious-ownership';
    expect(verdictsOfUwf(0, questions)).toEqual([refused, refused, refused, 'ok']);
  });
});

describe('where nothing belongs to the user', () => {
  const env = { ...isolatedGitEnvironment, GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' };

  test('the error has the words of git and its remedy, which helps', async () => {
    const dir = join(createTemporaryFolder(), "it's here!");
    runGit('/', ['init', '--quiet', dir]);
    const { open } = temporaryRepositoryAt(dir);
    const said = spawnSync('git', ['rev-parse'], { cwd: dir, env, encoding: 'utf8' }).stderr;
    const [, message = ''] = /^fatal: (.*)$/m.exec(said) ?? [];
    const [remedy = ''] = /git config --global --add safe\.directory .+/.exec(said) ?? [];
    const error: unknown = await open({ env }).catch((raised: unknown) => raised);
    expect(error).toMatchObject({ code: 'dubious-ownership', kind: 'environment', path: dir });
    expect((error as Error).message).toContain(message);
    expect((error as { hint: string }).hint).toContain(remedy);
    const global = join(createTemporaryFolder(), 'config');
    spawnSync('sh', ['-c', remedy], { env: { ...env, GIT_CONFIG_GLOBAL: global } });
    await expect(open({ env: { ...env, GIT_CONFIG_GLOBAL: global } })).resolves.toBeDefined();
  });

  test('nothing is allowed without git', async () => {
    const dir = createTemporaryFolder();
    runGit(dir, ['init', '--quiet']);
    const { open } = temporaryRepositoryAt(dir);
    await expect(open({ env: { ...env, PATH: createTemporaryFolder() } })).rejects.toMatchObject({
      code: 'git-not-found',
    });
  });
});
