import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  runGit,
} from '../helpers/temporary-repository.ts';
import {
  chain,
  config,
  createScene,
  diligent,
  filesBelow,
  patient,
  startUwf,
  unfinishedBelow,
  until,
} from './scene.ts';
import type { Scene, UwfOptions, UwfOutcome } from './scene.ts';

const files = {
  '.uwf/workflows/chain.yaml': chain('chain', ['one', 'two']),
  '.uwf/config.yaml': config(['./agent']),
  agent: diligent,
};

function run(scene: Scene, options: UwfOptions = {}): Promise<UwfOutcome> {
  return scene.uwf(['run', 'chain', '-p', 'do it', '--json'], options);
}

describe('a repository that uwf does not speak', () => {
  const extension = (key: string, value: string) => (scene: Scene) => {
    scene.git('config', 'core.repositoryFormatVersion', '1');
    scene.git('config', key, value);
  };

  test.each([
    ['an unknown extension', extension('extensions.fromTheFuture', 'yes'), 'fromthefuture'],
    ['a newer format', (scene: Scene) => scene.git('config', 'core.repositoryFormatVersion', '2'), 'Version 2'],
  ])('(%s) is refused by name with 1, and nothing is written', async (_name, prepare, feature) => {
    const scene = createScene(files);
    prepare(scene);
    const before = filesBelow(scene.gitDir);
    for (const argv of [
      ['run', 'chain', '-p', 'do it'],
      ['thread', 'start', 'chain', '-p', 'do it'],
      ['thread', 'list'],
      ['cas', 'put', 'a text'],
    ]) {
      const { code, stderr, stdout } = await scene.uwf(argv);
      expect({ argv, code, stdout }).toEqual({ argv, code: 1, stdout: '' });
      expect(stderr).toContain(feature);
      expect(stderr).toContain('nothing was changed');
      expect(stderr).toMatch(/^hint: .*(clone|migrate)/m);
    }
    expect(filesBelow(scene.gitDir)).toEqual(before);
    expect(scene.lines('turns')).toEqual([]);
  });
});

describe('a repository in the middle of something', () => {
  test('without a commit yet, runs as ever; the branch stays unborn', async () => {
    const scene = createScene(files);
    expect((await run(scene)).code).toBe(0);
    expect(() => scene.git('rev-parse', '--verify', '--quiet', 'HEAD')).toThrow('rev-parse');
    expectCleanFsck(scene.dir);
  });

  test('of a rebase that met a conflict, runs as ever, and the rebase goes on after it', async () => {
    const scene = createScene(files);
    const commit = (text: string): string => {
      scene.write('file', `${text}\n`);
      scene.git('add', 'file');
      scene.git('commit', '--quiet', '-m', text);
      return scene.git('rev-parse', 'HEAD');
    };
    commit('base');
    const theirs = commit('theirs');
    scene.git('checkout', '--quiet', '-b', 'topic', 'HEAD^');
    commit('ours');
    expect(() => scene.git('rebase', '--quiet', theirs)).toThrow('rebase');
    const status = scene.git('status', '--porcelain=v2', '--branch');
    const kept = filesBelow(scene.gitDir).filter((name) =>
      /^(rebase-merge|HEAD|ORIG_HEAD|REBASE_HEAD|index)/.test(name),
    );
    expect(kept.length).toBeGreaterThan(5);

    expect((await run(scene)).code).toBe(0);
    rmSync(join(scene.dir, 'turns'));
    expect(scene.git('status', '--porcelain=v2', '--branch')).toBe(status);
    expect(filesBelow(scene.gitDir)).toEqual(expect.arrayContaining(kept));
    scene.write('file', 'both\n');
    scene.git('add', 'file');
    scene.git('-c', 'core.editor=true', 'rebase', '--continue');
    expect(scene.git('log', '--format=%s', '-2')).toBe('ours\ntheirs');
    expectCleanFsck(scene.dir);
  });
});

test('without a git identity a named one commits, and that is said once', async () => {
  const scene = createScene(files);
  const env = { GIT_COMMITTER_NAME: undefined, GIT_COMMITTER_EMAIL: undefined, GIT_AUTHOR_NAME: undefined };
  const { code, stderr, json } = await run(scene, { env });
  expect(code).toBe(0);
  expect(stderr.match(/no git identity is set; commits are by uwf <uwf@localhost>/g)).toHaveLength(1);
  expect(stderr).toContain("run 'git config user.name <name>'");
  const head = String(json.at(-1)?.['head']);
  expect(new Set(scene.git('log', '--format=%cn <%ce>', head).split('\n'))).toEqual(new Set(['uwf <uwf@localhost>']));
  expectCleanFsck(scene.dir);
});

/** What every place has to agree on. */
async function listFrom(places: readonly string[]): Promise<unknown> {
  const lists: unknown[] = [];
  for (const cwd of places) {
    const { code, json } = await startUwf(['thread', 'list', '--all', '--json'], { cwd }).outcome;
    expect(code).toBe(0);
    lists.push(json);
  }
  for (const list of lists) expect(list).toEqual(lists[0]);
  return lists[0];
}

/** Works on one thread from one place and looks at it from the others. */
async function expectOneThread(scene: Scene, places: readonly string[], start: readonly string[]): Promise<void> {
  const [first = '', ...others] = places;
  const started = await startUwf([...start, '--json'], { cwd: first }).outcome;
  expect(started).toMatchObject({ code: 0 });
  const thread = String(started.json[0]?.['thread']);
  const step = startUwf(['thread', 'step', thread, '--json'], { cwd: first });
  await until('the agent works', () => scene.lines('turns').length === 1);
  for (const cwd of others) {
    expect((await startUwf(['thread', 'step', thread], { cwd }).outcome).code).toBe(5);
    const { json } = await startUwf(['thread', 'show', thread, '--json'], { cwd }).outcome;
    expect(json[0]).toMatchObject({ status: 'running', holder: { pid: step.pid } });
  }
  expect(await listFrom(places)).toMatchObject([{ thread, status: 'running', steps: 0 }]);
  scene.write('go', '');
  expect((await step.outcome).code).toBe(0);
  expect(await listFrom(places)).toMatchObject([{ thread, status: 'idle', steps: 1 }]);
  const last = await startUwf(['thread', 'run', thread, '--json'], { cwd: places.at(-1) ?? '' }).outcome;
  expect(last).toMatchObject({ code: 0 });
  expect(await listFrom(places)).toMatchObject([{ thread, status: 'ended', steps: 2 }]);
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(first);
}

describe('threads, leases and lists are the same', () => {
  /** An agent that works in one folder, wherever it is called from. */
  function patientFiles(folder: string): Record<string, string> {
    const agent = patient.replaceAll(/\b(turns|go)\b/g, (name) => join(folder, name));
    return { ...files, agent, '.uwf/config.yaml': config([join(folder, 'agent')]) };
  }

  test('in two linked worktrees and in a subfolder', async () => {
    const repository = createTemporaryRepository();
    const scene = createScene(patientFiles(repository.dir), repository);
    scene.git('add', '.uwf');
    scene.git('commit', '--quiet', '-m', 'a workflow');
    const worktrees = ['a', 'b'].map((name) => join(createTemporaryFolder(), name));
    for (const path of worktrees) scene.git('worktree', 'add', '--quiet', '--detach', path);
    const below = join(scene.dir, 'deep', 'down');
    mkdirSync(below, { recursive: true });
    await expectOneThread(
      scene,
      [worktrees[0]!, scene.dir, below, worktrees[1]!],
      ['thread', 'start', 'chain', '-p', 'x'],
    );
  });

  test('in a bare repository and in a worktree of it', async () => {
    const repository = createTemporaryRepository({ bare: true });
    const { dir } = repository;
    const outside = createTemporaryFolder();
    const scene = createScene({}, { ...repository, dir: outside });
    for (const [path, text] of Object.entries(patientFiles(outside))) scene.write(path, text);
    mkdirSync(join(dir, 'uwf'));
    // A bare repository reads the machine's file only.
    writeFileSync(join(dir, 'uwf', 'config.yaml'), config([join(outside, 'agent')]));
    const tree = runGit(dir, ['mktree'], '');
    const commit = runGit(dir, ['commit-tree', tree, '-m', 'empty']);
    const worktree = join(createTemporaryFolder(), 'work');
    runGit(dir, ['worktree', 'add', '--quiet', '--detach', worktree, commit]);
    const bareScene = { ...scene, gitDir: dir };
    const workflowFile = join(outside, '.uwf/workflows/chain.yaml');
    await expectOneThread(bareScene, [dir, worktree, join(dir, 'refs')], ['thread', 'start', workflowFile, '-p', 'x']);
  });

  test('in a submodule and in its subfolder, and its threads are not those of the repository around it', async () => {
    const inner = createScene({ README: 'inner\n' });
    inner.git('add', 'README');
    inner.git('commit', '--quiet', '-m', 'inner');
    const outer = createScene(files);
    outer.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.dir, 'sub');
    const sub = join(outer.dir, 'sub');
    const gitDir = join(outer.gitDir, 'modules', 'sub');
    const git = (...args: string[]): string => runGit(sub, args);
    const scene = { ...createScene(patientFiles(sub), { ...outer, dir: sub, git }), gitDir };
    mkdirSync(join(sub, 'below'));
    await expectOneThread(scene, [sub, join(sub, 'below')], ['thread', 'start', 'chain', '-p', 'x']);
    expect((await outer.uwf(['thread', 'list', '--all', '--json'])).json).toEqual([]);
    onTestFinished(() => rmSync(outer.dir, { recursive: true, force: true }));
  });
});
