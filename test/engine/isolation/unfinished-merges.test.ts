import { describe, expect, test } from 'vitest';
import { createCliRepository, type CliRepository, type CommandResult } from '../../helpers/cli.ts';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../../helpers/temporary-repository.ts';

const workflow = `name: one
isolation: worktree
roles: { coder: { schema: {} } }
graph:
  $START: { new: { role: coder }, resume: { role: coder } }
  coder: [{ role: $END }]
`;

type Ran = CliRepository & {
  env: Record<string, string>;
  result: CommandResult;
  thread: string;
  /** The thread's own work tree. */
  tree: string;
  /** Runs uwf as the user does. */
  run: (...argv: string[]) => Promise<CommandResult>;
};

/** Runs a workflow whose agent is a script, in a repository with a branch `other` that conflicts and one `apart` that does not. */
async function run(script: string): Promise<Ran> {
  const argv = ['sh', '-c', `{ ${script}\n} >&2; printf -- '---\\n---\\ndone\\n'`];
  const config = { agents: { sh: { package: 'builtin:command', config: { argv } } }, defaultAgent: 'sh' };
  const repository = createCliRepository({
    '.uwf/workflows/one.yaml': workflow,
    '.uwf/config.yaml': JSON.stringify(config),
    shared: 'base\n',
  });
  const { git, write } = repository;
  const commit = (path: string, text: string): void => {
    write(path, text);
    git('add', '-A');
    git('commit', '-qm', path);
  };
  commit('first', '1\n');
  git('switch', '-qc', 'other');
  commit('shared', 'theirs\n');
  git('switch', '-qc', 'apart', 'main');
  commit('apart', 'theirs\n');
  git('switch', '-q', 'main');
  const env = { XDG_STATE_HOME: createTemporaryFolder() };
  const result = await repository.uwf(['run', 'one', '-p', 'go'], { env });
  const thread = /thread (\S+)/.exec(result.stderr)?.[1] ?? '';
  const tree = git('worktree', 'list').split('\n')[1]?.split(' ')[0] ?? '';
  return { ...repository, env, result, thread, tree, run: (...words) => repository.uwf(words, { env }) };
}

const OURS = 'echo ours > shared; git commit -qam ours';

describe('a conflict that an agent has left', () => {
  const left: Record<string, { script: string; undo: string[] }> = {
    'by git merge': { script: `${OURS}; git merge other`, undo: ['merge', '--abort'] },
    'by git rebase': { script: `${OURS}; git rebase other`, undo: ['rebase', '--abort'] },
    'by git cherry-pick': { script: `${OURS}; git cherry-pick other`, undo: ['cherry-pick', '--abort'] },
    'by git revert': {
      script: `${OURS}; echo more > shared; git commit -qam more; git revert HEAD~1`,
      undo: ['revert', '--abort'],
    },
    'by git am': { script: `${OURS}; git format-patch --stdout -1 other | git am -3`, undo: ['am', '--abort'] },
    'by git stash': {
      script: `echo x > shared; git stash -q; ${OURS}; git stash pop`,
      undo: ['reset', '-q', '--hard'],
    },
    'of a file that one side deleted': {
      script: 'git rm -q shared; git commit -qm gone; git merge other',
      undo: ['merge', '--abort'],
    },
  };
  test.each(Object.entries(left))('%s suspends the turn, and stays out of the branch', async (_, { script, undo }) => {
    const { result, thread, tree, run: uwf, git } = await run(script);
    expect({ code: result.code, stderr: result.stderr }).toEqual({
      code: 4,
      stderr: expect.stringContaining(
        `coder left conflicts that are not resolved in ${tree}: shared; 'git add' each file there`,
      ),
    });
    const before = git('rev-parse', 'main');
    expect(await uwf('thread', 'merge', thread)).toMatchObject({ code: 1, stderr: expect.stringContaining('no step') });
    // It is not stored by a word alone.
    expect(await uwf('thread', 'resume', thread)).toMatchObject({ code: 4 });
    runGit(tree, undo);
    expect(await uwf('thread', 'resume', thread)).toMatchObject({ code: 0 });
    expect(await uwf('thread', 'merge', thread)).toMatchObject({ code: 0 });
    expect(git('rev-list', '--count', `${before}..main`)).not.toBe('0');
    expect(git('log', '-p', `${before}..main`)).not.toContain('<<<<<<<');
  });
});

test('a rebase for which commits wait suspends the turn, although no file has a conflict', async () => {
  const script = `${OURS}; echo more > more; git add more; git commit -qm more; git rebase other; git checkout -q --ours shared; git add shared`;
  const { result, thread, tree, run: uwf, git } = await run(script);
  expect(result).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(`coder left a rebase in ${tree} that is not finished`),
  });
  runGit(tree, ['-c', 'core.editor=true', 'rebase', '--continue']);
  expect(await uwf('thread', 'resume', thread)).toMatchObject({ code: 0 });
  expect(await uwf('thread', 'merge', thread)).toMatchObject({ code: 0 });
  expect(git('log', '-1', '--format=%s')).toBe('more');
});

describe('a merge that an agent has resolved and staged', () => {
  const STAGED = `${OURS}; git merge other; echo both > shared; git add shared; echo new > new`;

  test('keeps its second parent in what is recorded, and in the branch that it is merged into', async () => {
    const { thread, result, run: uwf, git, dir } = await run(STAGED);
    expect(result).toMatchObject({ code: 0 });
    const [before, other] = [git('rev-parse', 'main'), git('rev-parse', 'other')];
    const head = git('for-each-ref', '--format=%(objectname)', 'refs/history');
    const snapshot = git('rev-parse', `${head}^^@`).split('\n').at(-1);
    expect(git('log', '-1', '--format=%P', `${snapshot}`).split(' ')).toEqual([expect.any(String), other]);
    expect(await uwf('thread', 'verify', thread)).toMatchObject({ code: 0 });
    expect((await uwf('thread', 'code', thread, '--log')).stdout).toContain('shared');
    expect(await uwf('thread', 'merge', thread)).toMatchObject({ code: 0 });
    expect(git('log', '-1', '--format=%P').split(' ')).toEqual([git('rev-parse', 'main^'), other]);
    expect(git('merge-base', 'main', 'other')).toBe(other);
    expect([git('show', 'main:shared'), git('show', 'main:new')]).toEqual(['both', 'new']);
    expect(git('rev-list', '--count', '--first-parent', `${before}..main`)).toBe('2');
    expectCleanFsck(dir);
  });

  test('loses nothing where it is put on one line of commits', async () => {
    const { thread, run: uwf, git, write } = await run(STAGED);
    write('later', 'x');
    git('add', 'later');
    git('commit', '-qm', 'later');
    expect(await uwf('thread', 'merge', thread, '--rebase')).toMatchObject({ code: 0 });
    expect([git('show', 'main:shared'), git('show', 'main:new'), git('show', 'main:later')]).toEqual([
      'both',
      'new',
      'x',
    ]);
  });

  test('is still one where the thread goes on in another work tree, and none for the thread that has this one next', async () => {
    const {
      thread,
      run: uwf,
      git,
    } = await run(
      `if [ -n "$(git rev-parse -q --verify MERGE_HEAD)" ]; then git commit -qm merged; elif [ ! -e new ]; then ${STAGED}; fi`,
    );
    const started = await uwf('run', 'one', '-p', 'another');
    const next = /thread (\S+)/.exec(started.stderr)?.[1] ?? '';
    // It has the work tree of the first, which has ended.
    expect(git('worktree', 'list').split('\n')).toHaveLength(2);
    expect((await uwf('thread', 'code', next, '--log')).stdout).not.toContain('merged');
    const resumed = await uwf('thread', 'resume', thread, '-p', 'go on');
    const goesOn = /thread (\S+)/.exec(resumed.stderr)?.[1] ?? '';
    expect((await uwf('thread', 'code', goesOn, '--log')).stdout).toContain('merged');
    expect(await uwf('thread', 'merge', goesOn)).toMatchObject({ code: 0 });
    expect(git('merge-base', 'main', 'other')).toBe(git('rev-parse', 'other'));
  });
});
