import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

/** Commits all that is there, as agents do. */
const COMMITTER = 'echo agent > agentfile; echo agent >> tracked; git add -A && git commit -qm mine';
/** Formats a file and stages it, as the program of a pre-commit hook does. */
const FORMATTER = 'echo formatted >> tracked; git add tracked';

const WORKFLOW = `name: one
roles: { coder: { schema: {} } }
graph:
  $START: { new: { role: coder } }
  coder: [{ role: $END }]
`;

type Variables = Record<string, string>;

/** A repository of a user, who works in its main work tree or in a linked one. */
type World = {
  /** The main work tree, and where the user works. */
  main: string;
  tree: string;
  gitDir: string;
  commonDir: string;
  /** Runs git for the user. */
  git: (...args: string[]) => void;
  write: (path: string, text: string) => void;
  /** Lets a hook run the program. @param when a condition of the shell */
  hook: (name: string, when?: string) => void;
  /** The same at the remote of the user, which is bare. */
  remoteHook: (name: string) => void;
  /** The command that runs the program, for what is no hook. */
  program: string;
  /** Runs the program with variables, in a folder of the work tree. */
  start: (variables: Variables, folder?: string) => void;
};

type Scenario = (world: World) => void;

const commit: Scenario = ({ write, git }) => {
  write('staged', 'mine\n');
  git('add', 'staged');
  git('commit', '-qm', 'user');
};

/** What starts a program: hooks of git, and other programs that it runs. */
const operations: Record<string, Scenario> = {
  'pre-commit of commit': (w) => (w.hook('pre-commit'), commit(w)),
  'pre-commit of commit -a': (w) => {
    w.hook('pre-commit');
    w.write('tracked', 'changed\n');
    w.git('commit', '-qam', 'user');
  },
  'pre-commit of commit -- path': (w) => {
    w.hook('pre-commit');
    w.write('staged', 'mine\n');
    w.git('add', 'staged');
    w.write('second', 'changed\n');
    w.git('commit', '-qm', 'user', '--', 'second');
  },
  'pre-commit of commit --amend': (w) => (w.hook('pre-commit'), w.git('commit', '-q', '--amend', '-m', 'again')),
  'pre-commit with -c': (w) => {
    w.hook('pre-commit');
    w.write('staged', 'mine\n');
    w.git('add', 'staged');
    w.git('-c', 'core.abbrev=12', '-c', 'core.worktree=/nowhere', 'commit', '-qm', 'user');
  },
  'pre-commit with --git-dir and --work-tree': (w) => {
    w.hook('pre-commit');
    w.write('staged', 'mine\n');
    w.git('add', 'staged');
    w.git(`--git-dir=${w.gitDir}`, `--work-tree=${w.tree}`, 'commit', '-qm', 'user');
  },
  'prepare-commit-msg': (w) => (w.hook('prepare-commit-msg'), commit(w)),
  'commit-msg': (w) => (w.hook('commit-msg'), commit(w)),
  'post-commit': (w) => (w.hook('post-commit'), commit(w)),
  'post-commit of cherry-pick': (w) => (w.hook('post-commit'), w.git('cherry-pick', 'other')),
  'post-commit of revert': (w) => (w.hook('post-commit'), w.git('revert', '--no-edit', 'HEAD')),
  'post-rewrite': (w) => (w.hook('post-rewrite'), w.git('commit', '-q', '--amend', '-m', 'again')),
  'pre-merge-commit': (w) => (w.hook('pre-merge-commit'), w.git('merge', '-q', '--no-edit', 'other')),
  'post-merge': (w) => (w.hook('post-merge'), w.git('merge', '-q', '--no-edit', 'other')),
  'pre-rebase': (w) => (w.hook('pre-rebase'), w.git('rebase', '-q', 'other')),
  'post-checkout of switch': (w) => (w.hook('post-checkout'), w.git('switch', '-qc', 'topic')),
  'post-checkout of worktree add': (w) => {
    w.hook('post-checkout');
    w.git('worktree', 'add', '-q', '-b', 'added', join(dirname(w.main), 'added'));
  },
  'pre-push': (w) => (w.hook('pre-push'), w.git('push', '-q', 'origin', 'HEAD:topic')),
  'pre-auto-gc': (w) => {
    w.git('repack', '-q');
    commit(w);
    w.git('repack', '-q');
    w.hook('pre-auto-gc');
    w.git('-c', 'gc.autoPackLimit=1', '-c', 'gc.autoDetach=false', 'gc', '-q', '--auto');
  },
  'applypatch-msg': (w) => (w.hook('applypatch-msg'), w.git('am', '-q', '../other.patch')),
  'pre-applypatch': (w) => (w.hook('pre-applypatch'), w.git('am', '-q', '../other.patch')),
  'post-applypatch': (w) => (w.hook('post-applypatch'), w.git('am', '-q', '../other.patch')),
  'reference-transaction': (w) => (w.hook('reference-transaction', '[ "$1" = committed ]'), commit(w)),
  'post-index-change': (w) => (w.hook('post-index-change'), commit(w)),
  'rebase -x': (w) => w.git('rebase', '-q', '-x', w.program, 'HEAD~1'),
  'rebase -x onto another branch': (w) => w.git('rebase', '-q', '-x', w.program, 'other'),
  'the editor of rebase -i': (w) => w.git('-c', `sequence.editor=${w.program}; :`, 'rebase', '-q', '-i', 'HEAD~1'),
  'the editor of commit': (w) => {
    w.write('staged', 'mine\n');
    w.git('add', 'staged');
    w.git('-c', `core.editor=${w.program}; echo user >`, 'commit', '-q');
  },
  'bisect run': (w) => {
    w.git('bisect', 'start', 'HEAD', 'HEAD~2');
    w.git('bisect', 'run', 'sh', '-c', w.program);
  },
  'an alias': (w) => w.git('-c', `alias.own=!${w.program}`, 'own'),
  'an alias in a folder': (w) => w.git('-C', 'sub', '-c', `alias.own=!${w.program}`, 'own'),
  'filter-branch --tree-filter': (w) => w.git('filter-branch', '-f', '--tree-filter', w.program, 'HEAD~1..HEAD'),
  'filter-branch --index-filter': (w) =>
    w.git('filter-branch', '-f', '--index-filter', `${w.program}; :`, 'HEAD~1..HEAD'),
  difftool: (w) => w.git('difftool', '-y', '-x', `${w.program};:`, 'HEAD~1', '--', 'second'),
  'an external diff': (w) => w.git('-c', `diff.external=${w.program};:`, 'diff', 'HEAD~1', '--', 'second'),
  'a merge driver': (w) => {
    w.write('second', 'ours\n');
    w.git('commit', '-qam', 'ours');
    w.git('-c', `merge.own.driver=${w.program}; :`, 'merge', '-q', '--no-edit', 'sides');
  },
};

/** Variables that a person, or a program that is none of git's, has set. */
const environments: Record<string, (world: World) => [variables: Variables, folder?: string]> = {
  'no variable': () => [{}],
  'no variable, in a folder': () => [{}, 'sub'],
  GIT_DIR: ({ gitDir }) => [{ GIT_DIR: gitDir }],
  'a relative GIT_DIR': ({ gitDir, tree }) => [{ GIT_DIR: relative(tree, gitDir) }],
  'GIT_DIR and GIT_WORK_TREE': ({ gitDir, tree }) => [{ GIT_DIR: gitDir, GIT_WORK_TREE: tree }],
  'relative ones of both': ({ gitDir, tree }) => [{ GIT_DIR: relative(tree, gitDir), GIT_WORK_TREE: '.' }],
  'both, in a folder': ({ gitDir, tree }) => [{ GIT_DIR: gitDir, GIT_WORK_TREE: tree, GIT_PREFIX: 'sub/' }, 'sub'],
  GIT_INDEX_FILE: ({ gitDir }) => [{ GIT_INDEX_FILE: join(gitDir, 'index') }],
  'a relative GIT_INDEX_FILE': ({ gitDir, tree }) => [{ GIT_INDEX_FILE: relative(tree, join(gitDir, 'index')) }],
  'another GIT_INDEX_FILE': ({ gitDir }) => [{ GIT_INDEX_FILE: join(gitDir, 'own-index') }],
  GIT_COMMON_DIR: ({ gitDir, commonDir }) => [{ GIT_DIR: gitDir, GIT_COMMON_DIR: commonDir }],
  'a relative GIT_COMMON_DIR': ({ gitDir, commonDir, tree }) => [
    { GIT_DIR: gitDir, GIT_COMMON_DIR: relative(tree, commonDir) },
  ],
  GIT_OBJECT_DIRECTORY: ({ commonDir }) => [{ GIT_OBJECT_DIRECTORY: join(commonDir, 'objects') }],
  'a relative GIT_OBJECT_DIRECTORY': ({ commonDir, tree }) => [
    { GIT_OBJECT_DIRECTORY: relative(tree, join(commonDir, 'objects')) },
  ],
  GIT_ALTERNATE_OBJECT_DIRECTORIES: ({ commonDir }) => [
    { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(commonDir, 'objects') },
  ],
  GIT_PREFIX: () => [{ GIT_PREFIX: 'sub/' }],
  GIT_NAMESPACE: () => [{ GIT_NAMESPACE: 'space' }],
  GIT_IMPLICIT_WORK_TREE: () => [{ GIT_IMPLICIT_WORK_TREE: '0' }],
  GIT_CONFIG: ({ commonDir }) => [{ GIT_CONFIG: join(commonDir, 'config') }],
  'settings in variables': () => [
    { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.worktree', GIT_CONFIG_VALUE_0: '/nowhere' },
  ],
  'all of them': ({ gitDir, commonDir, tree }) => [
    {
      GIT_DIR: gitDir,
      GIT_WORK_TREE: tree,
      GIT_INDEX_FILE: join(gitDir, 'index'),
      GIT_COMMON_DIR: commonDir,
      GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(commonDir, 'objects'),
      GIT_PREFIX: '',
      GIT_NAMESPACE: 'space',
    },
  ],
};

const ofVariables: Record<string, Scenario> = Object.fromEntries(
  Object.entries(environments).map(([name, variables]) => [name, (world: World) => world.start(...variables(world))]),
);

/** Hooks of a repository that is pushed to; it is bare, so there is nothing to format. */
const atRemote: Record<string, Scenario> = Object.fromEntries(
  ['update', 'post-receive', 'post-update'].map((name) => [
    name,
    (world: World) => (
      world.git('push', '-q', 'origin', 'HEAD:main'),
      world.remoteHook(name),
      world.git('push', '-q', 'origin', 'HEAD:topic')
    ),
  ]),
);

type Place = 'the main work tree' | 'a linked work tree' | 'a work tree of dotfiles';

/** What a program is: uwf, or for comparison something that ought to do the same to the user's files. */
type Program = 'isolated' | 'nothing' | 'shared' | 'formatter';

/** What the user has after a scenario, and how its commands ended. */
type Outcome = { state: string; ended: (number | null)[]; ran: string; world: World };

/** The program runs once in a scenario: agents commit, too, and git asks some hooks several times. */
const GUARD = `[ -z "$UWF_THREAD" ] && [ ! -e "$ONCE" ] || exit 0; : > "$ONCE"`;

function play(place: Place, program: Program, scenario: Scenario): Outcome {
  const folder = createTemporaryFolder();
  const [main, home, remote] = [join(folder, 'main'), join(folder, 'home'), join(folder, 'remote.git')];
  const ran = join(folder, 'ran');
  mkdirSync(home);
  const env: Variables = { ...isolatedGitEnvironment, HOME: home, ONCE: join(folder, 'once') };
  const ended: (number | null)[] = [];
  const exec = (command: string, args: readonly string[], cwd: string, more: Variables = {}): string => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, env: { ...env, ...more }, encoding: 'utf8' });
    writeFileSync(ran, `$ ${command} ${args.join(' ')}\n${stdout}${stderr}`, { flag: 'a' });
    ended.push(status);
    return stdout;
  };
  const isDotfiles = place === 'a work tree of dotfiles';
  const commonDir = isDotfiles ? join(folder, 'dots') : join(main, '.git');
  mkdirSync(main);
  const git = (...args: string[]): string => exec('git', args, main);
  git('init', '-q', '-b', 'main', ...(isDotfiles ? ['--bare', commonDir] : []));
  git('init', '-q', '--bare', '-b', 'main', remote);
  if (isDotfiles) Object.assign(env, { GIT_DIR: commonDir, GIT_WORK_TREE: main });
  fill(main, git);
  const isLinked = place === 'a linked work tree';
  const tree = isLinked ? join(folder, 'linked') : main;
  if (isLinked) git('worktree', 'add', '-q', '-b', 'feature', tree);
  const gitDir = isLinked ? join(commonDir, 'worktrees', basename(tree)) : commonDir;
  const path = join(folder, 'program');
  writeProgram(path, `${GUARD}\n${commandOf(program, [commonDir, remote], ran)}`);
  // What prepares the scenario must succeed.
  expect(
    ended.every((status) => status === 0),
    readFileSync(ran, 'utf8'),
  ).toBe(true);
  const world: World = {
    main,
    tree,
    gitDir,
    commonDir,
    program: path,
    git: (...args) => void exec('git', args, tree),
    write: (name, text) => writeFileSync(join(tree, name), text),
    hook: (name, when = 'true') => writeProgram(join(commonDir, 'hooks', name), `${when} || exit 0\nexec ${path}`),
    remoteHook: (name) => writeProgram(join(remote, 'hooks', name), `exec ${path}`),
    start: (variables, below = '.') => void exec(path, [], join(tree, below), variables),
  };
  ended.length = 0;
  scenario(world);
  const outcome = { state: '', ended: [...ended], ran: '', world };
  const states = [main, ...(isLinked ? [tree] : [])].map((top) => stateOf(top, (args) => exec('git', args, top)));
  states.push(usersRefs((args) => exec('git', args, remote, { GIT_DIR: remote })));
  return { ...outcome, state: states.join('\n'), ran: readFileSync(ran, 'utf8') };
}

function writeProgram(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** Three commits, and branches that can be merged, all with known ids. */
function fill(main: string, git: (...args: string[]) => string): void {
  const add = (name: string, text: string): void => {
    mkdirSync(dirname(join(main, name)), { recursive: true });
    writeFileSync(join(main, name), text);
    git('add', name);
    git('commit', '-qm', `add ${name}`);
  };
  git('config', 'core.logAllRefUpdates', 'true');
  add('tracked', 'one\n');
  git('branch', 'other');
  add('sub/file', 'below\n');
  writeFileSync(join(main, '.gitattributes'), 'second merge=own\n');
  git('add', '.gitattributes');
  add('second', 'two\n');
  git('switch', '-q', '-c', 'sides');
  add('second', 'theirs\n');
  git('switch', '-q', 'other');
  add('other', 'theirs\n');
  writeFileSync(join(main, '..', 'other.patch'), git('format-patch', '--stdout', '-1'));
  git('switch', '-q', 'main');
  git('remote', 'add', 'origin', '../remote.git');
}

function commandOf(program: Program, commonDirs: readonly string[], ran: string): string {
  if (program === 'nothing') return ':';
  if (program === 'formatter') return `cd "$(git rev-parse --show-toplevel)" && ${FORMATTER}`;
  const workflow = join(dirname(ran), 'one.yaml');
  const script = program === 'isolated' ? COMMITTER : FORMATTER;
  const argv = ['sh', '-c', `{ ${script}; } >&2; printf -- '---\\n---\\ndone\\n'`];
  const agents = { sh: { package: 'builtin:command', config: { argv } } };
  for (const commonDir of commonDirs) {
    mkdirSync(join(commonDir, 'uwf'), { recursive: true });
    writeFileSync(join(commonDir, 'uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'sh' }));
  }
  writeFileSync(workflow, WORKFLOW);
  const uwf = `'${process.execPath}' '${join(packageRoot(), 'bin/uwf.js')}'`;
  const isolate = program === 'isolated' ? ' --isolate' : '';
  return `${uwf} run '${workflow}' -p x${isolate} >>'${ran}' 2>&1`;
}

/** All that a user sees of a work tree: commits, index, files, and what git has not finished. */
function stateOf(top: string, git: (args: string[]) => string): string {
  const unfinished = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'rebase-merge', 'rebase-apply', 'index.lock', 'HEAD.lock'];
  const [gitDir = ''] = git(['rev-parse', '--absolute-git-dir']).split('\n');
  return [
    git(['rev-parse', '--symbolic-full-name', 'HEAD']),
    git(['rev-parse', 'HEAD']),
    usersRefs(git),
    git(['ls-files', '--stage']),
    git(['status', '--porcelain']),
    git(['reflog', '--format=%H %gs']),
    ...unfinished.filter((name) => existsSync(join(gitDir, name))),
    ...readdirSync(top, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !join(entry.parentPath, '/').includes('/.git/') && entry.name !== '.git')
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => `${relative(top, file)} ${JSON.stringify(readFileSync(file, 'utf8'))}`)
      .toSorted(),
  ].join('\n');
}

/** The branches and other refs that are not those of threads and of their work trees. */
function usersRefs(git: (args: string[]) => string): string {
  return git([
    'for-each-ref',
    '--format=%(refname) %(objectname)',
    'refs/heads',
    'refs/tags',
    'refs/remotes',
    'refs/stash',
  ])
    .split('\n')
    .filter((line) => !line.startsWith('refs/heads/uwf/'))
    .join('\n');
}

/** The subjects of the commits that agents made, and the files that they wrote, as the threads have them. */
function workOf({ world: { main, commonDir } }: Outcome): string[] {
  return [commonDir, join(main, '../remote.git')].flatMap((gitDir) => {
    const options = { env: { ...isolatedGitEnvironment, GIT_DIR: gitDir }, encoding: 'utf8' } as const;
    const run = (...args: string[]): string => spawnSync('git', args, options).stdout;
    const heads = run('for-each-ref', '--format=%(objectname)', 'refs/history').split('\n').filter(Boolean);
    return heads.map((head) => {
      const snapshot = run('rev-parse', `${head}^^@`).split('\n').filter(Boolean).at(-1);
      return `${run('log', '-1', '--format=%s', `${snapshot}^`)}${run('cat-file', 'blob', `${snapshot}:agentfile`)}`;
    });
  });
}

/** A campaign by hand plays each scenario in all three places; otherwise each is played in one, and without isolation in another. */
const EVERYWHERE = process.env['SUITE_HOOKS_EVERYWHERE'] === '1';
const places = ['the main work tree', 'a linked work tree', 'a work tree of dotfiles'] as const;

describe.each(places)('in %s', (place) => {
  const shareOf = <T>(all: readonly T[], shift = 0): T[] =>
    all.filter((_, at) => EVERYWHERE || (at + shift) % places.length === places.indexOf(place));
  // The variables of dotfiles are given already.
  const isGiven = place === 'a work tree of dotfiles';
  const local = Object.entries(isGiven ? operations : { ...operations, ...ofVariables });
  test.each(shareOf([...local, ...Object.entries(atRemote)]))(
    'an isolated turn that %s starts touches nothing of the user',
    (_, scenario) => {
      const isolated = play(place, 'isolated', scenario);
      const nothing = play(place, 'nothing', scenario);
      expect(workOf(isolated), isolated.ran).toEqual(['mine\nagent\n']);
      expect({ ended: isolated.ended, state: isolated.state }, isolated.ran).toEqual({
        ended: nothing.ended,
        state: nothing.state.replaceAll(nothing.world.main, isolated.world.main),
      });
    },
  );

  test.each(shareOf(local, 1))(
    'a turn that is not isolated and that %s starts does what its program does without uwf',
    (_, scenario) => {
      const shared = play(place, 'shared', scenario);
      const formatter = play(place, 'formatter', scenario);
      expect(existsSync(join(shared.world.main, '../once')), shared.ran).toBe(true);
      expect({ ended: shared.ended, state: shared.state }, shared.ran).toEqual({
        ended: formatter.ended,
        state: formatter.state.replaceAll(formatter.world.main, shared.world.main),
      });
    },
  );
});

test('in pre-receive, where git keeps objects in quarantine, uwf leaves no ref that leads to them', () => {
  const { ended, world, ran } = play('the main work tree', 'isolated', (w) => {
    w.git('push', '-q', 'origin', 'HEAD:main');
    w.remoteHook('pre-receive');
    w.git('push', '-q', 'origin', 'HEAD:topic');
    w.git('push', '-q', 'origin', 'HEAD:topic');
    w.git('-C', '../remote.git', 'fsck', '--strict');
  });
  expect(ran).toContain('git keeps all that is written here in quarantine');
  expect(ended).toEqual([0, 1, 0, 0]);
  expect(existsSync(join(world.main, '../remote.git/refs/heads/topic'))).toBe(true);
});
