import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createEngine } from '../../../src/engine/engine.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import { findAsideWorkTrees } from '../../../src/engine/isolation/work-trees.ts';
import { collectGarbage } from '../../../src/engine/maintenance/collect-garbage.ts';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { linkedWorkTrees, markUnfinished, noteThread, readThreadNote } from '../../../src/git/repository/work-trees.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readThread, type WholeThread } from '../../../src/thread/thread-chain.ts';
import { Verification } from '../../../src/verify/verification.ts';
import type { Isolation, WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { createTemporaryFolder, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { createFixture, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const definition = (isolation?: Isolation): WorkflowDefinition =>
  workflow(
    'w',
    { coder: statuses('again', 'done') },
    'coder [again] > coder > end',
    isolation === undefined ? {} : { isolation },
  );

/** An agent that runs a shell script, whose `$UWF_REPOSITORY/..` is the main work tree. */
function shell(script: string): Config {
  const end = 'printf -- \'---\\n$status: %s\\n---\\ndid it\\n\' "${status:-again}"';
  const config = { argv: ['sh', '-c', `main=$(dirname "$UWF_REPOSITORY"); { ${script}\n} >&2; ${end}`] };
  return { agents: { sh: { name: 'sh', package: 'builtin:command', config } }, defaultAgent: 'sh', roles: {} };
}

type Fixture = EngineFixture & { workTrees: string };

async function fixtureWith(script: string, more: Partial<Config> = {}): Promise<Fixture> {
  const fixture = await createFixture({ ...shell(script), ...more });
  const workTrees = join(createTemporaryFolder(), 'trees');
  const { repository, git, dir } = fixture;
  writeFileSync(join(dir, 'tracked'), 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'code');
  git('branch', '-M', 'main');
  return {
    ...fixture,
    workTrees,
    engine: engineOf(repository, { ...shell(script), ...more }, workTrees, fixture.events),
  };
}

function engineOf(
  repository: Fixture['repository'],
  config: Config,
  workTrees: string,
  events: Fixture['events'] = [],
): Fixture['engine'] {
  const env = { PATH: process.env['PATH'], HOME: workTrees, GIT_CONFIG_NOSYSTEM: '1' };
  return createEngine({ repository, config, env, workTrees, onEvent: (event) => void events.push(event) });
}

async function read({ repository }: Pick<Fixture, 'repository'>, thread: string): Promise<WholeThread> {
  const { id, head } = await getThread(repository, thread);
  return readThread(repository, id, head);
}

async function lastStep(fixture: Pick<Fixture, 'repository'>, thread: string): Promise<WholeThread['steps'][number]> {
  const step = (await read(fixture, thread)).steps.at(-1);
  if (!step) throw new Error('no step was stored');
  return step;
}

async function forkOf({ repository }: Fixture, thread: string): Promise<{ thread: string }> {
  const { id, head } = await getThread(repository, thread);
  return forkThread(repository, { id, head });
}

async function expectSound({ repository, dir }: Pick<Fixture, 'repository' | 'dir'>, thread: string): Promise<void> {
  const { head } = await getThread(repository, thread);
  expect((await new Verification(repository).verify(head)).findings).toEqual([]);
  expectCleanFsck(dir);
}

/** The folder of a thread's work tree. */
function treeOf({ dir, workTrees }: Fixture, thread: string): string {
  const trees = linkedWorkTrees({ commonDir: realpathSync(join(dir, '.git')) });
  const found = trees.find(({ top }) => top.endsWith(thread) && top.startsWith(realpathSync(workTrees)));
  if (found === undefined) throw new Error(`no work tree of ${thread}`);
  return found.top;
}

describe('an isolated role', () => {
  test('works in a work tree and on a branch of its own, and its files are recorded', async () => {
    const fixture = await fixtureWith(
      'echo new >> file; git add file; git -c user.name=a -c user.email=a@b commit -qm mine',
    );
    const head = fixture.git('rev-parse', 'HEAD');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.step(thread);
    await fixture.engine.step(thread);
    expect(fixture.git('status', '--porcelain')).toBe('');
    expect(fixture.git('rev-parse', 'HEAD')).toBe(head);
    const tree = treeOf(fixture, thread);
    expect(readFileSync(join(tree, 'file'), 'utf8')).toBe('new\nnew\n');
    expect(fixture.git('-C', tree, 'branch', '--show-current')).toMatch(/^uwf\/w-[0-9a-z]{6}$/);
    const { start, steps } = await read(fixture, thread);
    expect(start.node.base).toBe(head);
    expect(start.commit.parents).toEqual([head]);
    for (const { commit } of steps) expect(commit.node).toMatchObject({ workspace: { tree: expect.any(String) } });
    expect(steps.at(-1)?.commit.node.isolation).toBeUndefined();
    expect(fixture.git('cat-file', 'blob', `${steps.at(-1)?.commit.node.workspace?.tree}:file`)).toBe('new\nnew');
    await expectSound(fixture, thread);
  });

  test('begins at the base of its thread, with what was not committed where that is wanted', async () => {
    const fixture = await fixtureWith('cat tracked untracked > seen; status=done');
    writeFileSync(join(fixture.dir, 'tracked'), 'changed\n');
    writeFileSync(join(fixture.dir, 'untracked'), 'too\n');
    const { thread } = await fixture.engine.start({ definition: definition(), prompt: 'p', base: 'changes' });
    await fixture.engine.run(thread);
    const { workspace } = (await lastStep(fixture, thread)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:seen`)).toBe('changed\ntoo');
    expect(fixture.git('status', '--porcelain')).toContain('?? untracked');
    await expectSound(fixture, thread);
  });

  const attacks: Record<string, { script: string; changed: string }> = {
    'writes to an absolute path': { script: 'echo x > "$main/tracked"', changed: 'files' },
    'commits with git -C': {
      script: 'git -C "$main" -c user.name=a -c user.email=a@b commit -qm x --allow-empty',
      changed: 'head',
    },
    'stages with git -C': { script: 'echo y > "$main/y"; git -C "$main" add y', changed: 'index' },
    'leaves its folder': { script: 'cd "$main"; rm tracked', changed: 'files' },
    'follows a link': { script: 'ln -s "$main" out; echo x > out/new; rm out', changed: 'files' },
    'finds it by git worktree': {
      script: 'echo x > "$(git worktree list --porcelain | head -1 | cut -c10-)/found"',
      changed: 'files',
    },
    'checks its branch out': {
      script:
        'git checkout -q --ignore-other-worktrees main; git -c user.name=a -c user.email=a@b commit -qm x --allow-empty',
      changed: 'head',
    },
  };
  test.each(Object.entries(attacks))('that %s is found out after its turn', async (_, { script, changed }) => {
    const fixture = await fixtureWith(script);
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.step(thread);
    const { isolation } = (await lastStep(fixture, thread)).commit.node;
    expect(isolation?.['main']).toHaveProperty(changed);
    expect(fixture.events.map(({ event }) => event)).toContain('main.changed');
    await expectSound(fixture, thread);
  });

  test('is held where it is strict and the main work tree changed, and stored when a person goes on', async () => {
    const fixture = await fixtureWith('echo x > "$main/tracked"; echo mine > mine; status=done');
    const { thread } = await fixture.engine.start({ definition: definition('strict'), prompt: 'p' });
    const over = await fixture.engine.run(thread);
    expect(over.event).toBe('thread.suspended');
    const { head } = await getThread(fixture.repository, thread);
    const suspension = JSON.parse(fixture.git('cat-file', 'blob', `${head}:suspend.json`)) as { payload: object };
    expect(suspension.payload).toMatchObject({ cause: 'isolation', reason: expect.stringContaining('tracked') });
    expect((await fixture.engine.resume(thread)).event).toBe('thread.ended');
    const { steps } = await read(fixture, thread);
    expect(steps).toHaveLength(1);
    expect(steps[0]?.commit.node.isolation).toMatchObject({ main: { files: { paths: ['tracked'] } } });
    await expectSound(fixture, thread);
  });

  test('is held while not all of its files can be recorded', async () => {
    const fixture = await fixtureWith('[ -e done ] || mkfifo pipe; echo x > done; status=done');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    expect((await fixture.engine.run(thread)).event).toBe('thread.suspended');
    expect((await fixture.engine.resume(thread)).event).toBe('thread.suspended');
    rmSync(join(treeOf(fixture, thread), 'pipe'));
    expect((await fixture.engine.resume(thread)).event).toBe('thread.ended');
    expect((await read(fixture, thread)).steps).toHaveLength(1);
    await expectSound(fixture, thread);
  });

  test('that is not isolated itself works in the main work tree', async () => {
    const fixture = await fixtureWith('echo x > here; status=done');
    const wanted = definition('worktree');
    if (wanted.roles['coder']) wanted.roles['coder'].isolation = 'none';
    const { thread } = await fixture.engine.start({ definition: wanted, prompt: 'p', base: 'head' });
    await fixture.engine.run(thread);
    expect(existsSync(join(fixture.dir, 'here'))).toBe(true);
  });
});

describe('the work tree of a thread', () => {
  test('is recorded after an agent has removed its link to the repository', async () => {
    const fixture = await fixtureWith('echo x > left; rm .git; status=done');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    expect((await fixture.engine.run(thread)).event).toBe('thread.ended');
    const { workspace } = (await lastStep(fixture, thread)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:left`)).toBe('x');
    await expectSound(fixture, thread);
  });

  test('is recorded by a plain resume once the repository is gone that an agent made in its place', async () => {
    const fixture = await fixtureWith('echo x > left; rm .git; git init -q; status=done');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    expect((await fixture.engine.run(thread)).event).toBe('thread.suspended');
    const tree = treeOf(fixture, thread);
    rmSync(join(tree, '.git'), { recursive: true });
    expect((await fixture.engine.resume(thread)).event).toBe('thread.ended');
    const { workspace } = (await lastStep(fixture, thread)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:left`)).toBe('x');
    await expectSound(fixture, thread);
  });

  test('whose files would pass for those of a thread is not recorded until they are moved', async () => {
    const fixture = await fixtureWith('git show "refs/threads/$UWF_THREAD:index" > index; status=done');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    expect((await fixture.engine.run(thread)).event).toBe('thread.suspended');
    const { head } = await getThread(fixture.repository, thread);
    const { reason } = (
      JSON.parse(fixture.git('cat-file', 'blob', `${head}:suspend.json`)) as { payload: { reason: string } }
    ).payload;
    expect(reason).toContain("the file 'index' at the top is one that uwf wrote for a thread; move or remove it");
    const tree = treeOf(fixture, thread);
    renameSync(join(tree, 'index'), join(tree, 'index.old'));
    expect((await fixture.engine.resume(thread)).event).toBe('thread.ended');
    await expectSound(fixture, thread);
  });

  test('is made from the newest snapshot for a fork, and in another clone', async () => {
    const fixture = await fixtureWith('echo line >> file; chmod +x file; ln -sf file link; cp file "copy é"');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.step(thread);
    await fixture.engine.step(thread);
    const before = (await lastStep(fixture, thread)).commit.node.workspace?.tree;
    const fork = await forkOf(fixture, thread);
    await fixture.engine.step(fork.thread);
    expect(readFileSync(join(treeOf(fixture, fork.thread), 'file'), 'utf8')).toBe('line\nline\nline\n');
    expect(readFileSync(join(treeOf(fixture, thread), 'file'), 'utf8')).toBe('line\nline\n');

    const other = await createFixture(shell('git add -A; git write-tree > ../written-tree; status=done'));
    execFileSync('git', ['-C', other.dir, 'fetch', '-q', fixture.dir, 'refs/threads/*:refs/threads/*']);
    const workTrees = join(createTemporaryFolder(), 'trees');
    mkdirSync(workTrees);
    const config = shell('git add -A; git write-tree > "$HOME/written-tree"; status=done');
    await engineOf(other.repository, config, workTrees).run(thread);
    expect(readFileSync(join(workTrees, 'written-tree'), 'utf8').trim()).toBe(before);
    await expectSound(other, thread);
  });

  test('is made again if a process was killed while it made it', async () => {
    const fixture = await fixtureWith('ls > seen; echo line >> file');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.step(thread);
    const [tree] = linkedWorkTrees({ commonDir: realpathSync(join(fixture.dir, '.git')) });
    if (tree === undefined) throw new Error('there is no work tree');
    markUnfinished(tree, []);
    writeFileSync(join(tree.top, 'junk'), 'half');
    rmSync(join(tree.top, 'file'));
    await fixture.engine.step(thread);
    const { workspace } = (await lastStep(fixture, thread)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:seen`)).toBe('file\nseen\ntracked');
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:file`)).toBe('line\nline');
    await expectSound(fixture, thread);
  });

  test('needs a folder that can be made', async () => {
    const fixture = await fixtureWith('status=done');
    writeFileSync(fixture.workTrees, 'a file');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await expect(fixture.engine.step(thread)).rejects.toMatchObject({
      code: 'no-place-for-work-trees',
      kind: 'environment',
    });
  });

  test('catches up with a step that was stored when its process was killed', async () => {
    const fixture = await fixtureWith('echo line >> file');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.step(thread);
    const [tree] = linkedWorkTrees({ commonDir: realpathSync(join(fixture.dir, '.git')) });
    const first = tree && readThreadNote(tree);
    await fixture.engine.step(thread);
    if (tree === undefined || first === undefined) throw new Error('there is no note');
    noteThread(tree, first);
    await fixture.engine.step(thread);
    expect(readFileSync(join(tree.top, 'file'), 'utf8')).toBe('line\nline\nline\n');
    expect(linkedWorkTrees({ commonDir: realpathSync(join(fixture.dir, '.git')) })).toHaveLength(1);
  });

  test('has what a cut-off turn left when the turn is taken again', async () => {
    const fixture = await fixtureWith('[ -e begun ] && status=done; cat begun');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    const stop = new AbortController();
    const { repository, workTrees } = fixture;
    const cutOff = createEngine({
      repository,
      config: shell('echo half > begun; echo begun >&2; sleep 600'),
      env: { PATH: process.env['PATH'] },
      workTrees,
      signal: stop.signal,
    });
    const watch = setInterval(() => {
      const [tree] = linkedWorkTrees({ commonDir: realpathSync(join(fixture.dir, '.git')) });
      if (tree && existsSync(join(tree.top, 'begun'))) stop.abort(new Error('cut off'));
    }, 20);
    await expect(cutOff.step(thread).finally(() => clearInterval(watch))).rejects.toThrow('stopped before');
    expect((await fixture.engine.run(thread)).event).toBe('thread.ended');
    const { workspace } = (await lastStep(fixture, thread)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:begun`)).toBe('half');
  });

  test('is moved aside if its thread went on elsewhere and it has files of its own', async () => {
    const fixture = await fixtureWith('echo line >> file');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.step(thread);
    const tree = treeOf(fixture, thread);
    const [found] = linkedWorkTrees({ commonDir: realpathSync(join(fixture.dir, '.git')) });
    const first = found && readThreadNote(found);
    await fixture.engine.step(thread);
    if (found === undefined || first === undefined) throw new Error('there is no note');
    noteThread(found, first);
    writeFileSync(join(tree, 'only-here'), 'x');
    await fixture.engine.step(thread);
    expect(readFileSync(`${tree}.left-1/only-here`, 'utf8')).toBe('x');
    expect(readFileSync(join(tree, 'file'), 'utf8')).toBe('line\nline\nline\n');
  });

  test('is moved aside, not removed, if it is no work tree any more', async () => {
    const fixture = await fixtureWith('echo x > left; status=done');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await engineOf(fixture.repository, shell('echo x > only-here; rm .git; git init -q'), fixture.workTrees).step(
      thread,
    );
    const tree = treeOf(fixture, thread);
    await fixture.engine.resume(thread, { answer: 'again' });
    expect(readFileSync(`${tree}.left-1/only-here`, 'utf8')).toBe('x\n');
    const { repository, workTrees } = fixture;
    expect(findAsideWorkTrees({ repository, config: {}, env: {}, workTrees })).toEqual([`${tree}.left-1`]);
  });

  test('has a branch beside a branch that is named uwf', async () => {
    const fixture = await fixtureWith('status=done');
    fixture.git('branch', 'uwf');
    const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
    await fixture.engine.run(thread);
    const branch = fixture.git('-C', treeOf(fixture, thread), 'branch', '--show-current');
    expect(branch).toBe(`uwf-w-${thread.toLowerCase()}`);
    expect(fixture.git('rev-parse', 'uwf')).toBe(fixture.git('rev-parse', 'main'));
  });

  test('of an ended thread is used again, and gc leaves none over', async () => {
    const fixture = await fixtureWith(
      'list=$(ls -A | grep -v "^.git$"); echo "$list" > seen; echo "$UWF_THREAD" > ignored; status=done',
    );
    writeFileSync(join(fixture.dir, '.gitignore'), 'ignored\n');
    fixture.git('add', '-A');
    fixture.git('commit', '-qm', 'ignore');
    const run = async (): Promise<string> => {
      const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' });
      await fixture.engine.run(thread);
      return thread;
    };
    await run();
    const second = await run();
    expect(linkedWorkTrees({ commonDir: realpathSync(join(fixture.dir, '.git')) })).toHaveLength(1);
    const { workspace } = (await lastStep(fixture, second)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:seen`)).toBe('.gitignore\ntracked');
    const { repository, workTrees } = fixture;
    const collected = await collectGarbage({ repository, config: {}, env: { PATH: process.env['PATH'] }, workTrees });
    expect(collected.workTrees).toBe(1);
    expect(fixture.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(fixture.git('branch', '--list', 'uwf/*')).toBe('');
    await expectSound(fixture, second);
  });

  test('of an ended thread is not used by another until it has been set up', async () => {
    const fixture = await fixtureWith('cat prepared > seen; status=done');
    const { repository, workTrees } = fixture;
    const withSetup = (script: string): Config => ({
      ...shell('cat prepared > seen; status=done'),
      isolation: { setup: ['sh', '-c', script] },
    });
    const start = async (): Promise<string> =>
      (await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' })).thread;
    await engineOf(repository, withSetup('true'), workTrees).run(await start());
    const thread = await start();
    const failing = engineOf(repository, withSetup('false'), workTrees);
    await expect(failing.run(thread)).rejects.toMatchObject({ code: 'set-up-failed' });
    await engineOf(repository, withSetup('echo yes > prepared'), workTrees).run(thread);
    const { workspace } = (await lastStep(fixture, thread)).commit.node;
    expect(fixture.git('cat-file', 'blob', `${workspace?.tree}:seen`)).toBe('yes');
  });

  test('is not taken for another thread while it is being moved to a thread of its own', async () => {
    const fixture = await fixtureWith('status=done');
    const start = async (): Promise<string> =>
      (await fixture.engine.start({ definition: definition('worktree'), prompt: 'p' })).thread;
    const ended = await start();
    await fixture.engine.run(ended);
    const tree = treeOf(fixture, ended);
    const claiming = await start();
    // As another process leaves it that has moved it, and not refilled it yet.
    fixture.git('worktree', 'move', tree, join(dirname(tree), claiming));
    const thread = await start();
    await fixture.engine.run(thread);
    expect(treeOf(fixture, thread)).not.toBe(treeOf(fixture, claiming));
  });

  test('gets ignored files that .worktreeinclude names, but none that its own commit does not ignore', async () => {
    const fixture = await fixtureWith('cat secret other > seen; status=done');
    const { dir, git } = fixture;
    const older = parseObjectId(git('rev-parse', 'HEAD'));
    writeFileSync(join(dir, '.gitignore'), 'secret\nother\n');
    writeFileSync(join(dir, '.worktreeinclude'), 'secret\n');
    git('add', '-A');
    git('commit', '-qm', 'ignore');
    for (const name of ['secret', 'other']) writeFileSync(join(dir, name), `${name}\n`);
    const seenFrom = async (base: 'head' | ObjectId): Promise<[string, string]> => {
      const { thread } = await fixture.engine.start({ definition: definition('worktree'), prompt: 'p', base });
      await fixture.engine.run(thread);
      const { workspace } = (await lastStep(fixture, thread)).commit.node;
      return [git('cat-file', 'blob', `${workspace?.tree}:seen`), git('ls-tree', '--name-only', workspace?.tree ?? '')];
    };
    expect(await seenFrom('head')).toEqual(['secret', '.gitignore\n.worktreeinclude\nseen\ntracked']);
    expect(await seenFrom(older)).toEqual(['', 'seen\ntracked']);
  });
});
