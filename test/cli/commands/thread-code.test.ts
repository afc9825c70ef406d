import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { noteMove } from '../../../src/git/worktree/merge-target.ts';
import { endThread } from '../../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { recorder } from '../../helpers/cli.ts';
import {
  createTemporaryFolder,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../../helpers/temporary-repository.ts';
import { stateOf } from '../../thread/code/beside-git.ts';
import { leaveFiles } from '../../thread/code/code-thread.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { createWork, type Work } from './code-work.ts';

const binary = join(import.meta.dirname, '../../../bin/uwf.js');
const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

async function expectNothingChanged({ repository }: Work, argv: string[], error: object): Promise<void> {
  const before = stateOf(repository);
  const { code, stderr } = await repository.uwf([...argv, '--json']);
  expect(JSON.parse(stderr)).toMatchObject({ error });
  expect(code).toBe(1);
  expect(stateOf(repository)).toEqual(before);
}

describe('thread code', () => {
  test('shows what was committed and what was not, as git does', async () => {
    const work = createWork();
    work.commit({ 'a.txt': 'one\nTWO\nthree\n' }, 'Change two');
    const thread = await work.leave({ 'src/new.txt': 'new\r\n', 'src/b.txt': 'B\n' });
    const { repository, base } = work;
    const tip = ((await repository.json(['thread', 'code', thread])) as { tip: string }).tip;
    expect(await repository.json(['thread', 'code', thread])).toMatchObject({
      thread,
      base,
      files: [
        { change: 'modified', path: 'a.txt', added: 1, deleted: 1 },
        { path: 'src/b.txt' },
        { change: 'added', path: 'src/new.txt' },
      ],
      commits: [{ commit: tip, subject: 'Mend the parser.' }, { subject: 'Change two' }],
    });
    const patch = await repository.uwf(['thread', 'code', thread]);
    expect(patch.stdout).toContain('+new\r\n');
    runGit(repository.dir, ['apply', '-'], patch.stdout);
    expect(repository.git('status', '--porcelain')).toBe(' M a.txt\n M src/b.txt\n?? src/new.txt');
    expect((await repository.uwf(['thread', 'code', thread, '--name-only', 'src'])).stdout).toBe(
      'src/b.txt\nsrc/new.txt\n',
    );
    const below = { cwd: join(repository.dir, 'src') };
    expect((await repository.uwf(['thread', 'code', thread, '--stat', 'b.txt'], below)).stdout).toContain(
      'src/b.txt | 2 +-',
    );
    const log = await repository.uwf(['thread', 'code', thread, '--log', 'a.txt']);
    expect(log.stdout).toMatch(/^[0-9a-f]{10} Change two\n$/);
    const coloured = await repository.uwf(['thread', 'code', thread], { isTTY: true });
    expect(coloured.stdout).toContain('\u001B[32m+\u001B[0m\u001B[32mTWO\u001B[0m');
    expect(coloured.stdout).not.toContain('\uFFFD[');
  });

  test('runs no program that the repository names', async () => {
    const work = createWork({ '.gitattributes': '*.txt diff=own\n' });
    const thread = await work.leave({ 'a.txt': 'other\n' });
    const { repository } = work;
    repository.git('config', 'diff.own.textconv', 'touch ran; cat');
    repository.git('config', 'diff.own.command', 'touch ran');
    repository.git('config', 'diff.external', 'touch ran');
    for (const form of [[], ['--stat'], ['--log'], ['--json']])
      expect((await repository.uwf(['thread', 'code', thread, ...form])).code).toBe(0);
    expect(existsSync(join(repository.dir, 'ran'))).toBe(false);
  });

  test('says what to do about a thread without a base, and one without files', async () => {
    const { repository, base } = createWork();
    const opened = await repository.open();
    const [plain, empty] = [await startLoop(opened), await startLoop(opened, { base: parseObjectId(base) })];
    const codeOf = async ({ id }: ThreadState): Promise<unknown> =>
      JSON.parse((await repository.uwf(['thread', 'code', id, '--json'])).stderr);
    expect(await codeOf(plain)).toMatchObject({ error: { code: 'no-base' } });
    expect(await codeOf(empty)).toMatchObject({ error: { code: 'no-snapshot' } });
    await opened.close();
  });
});

describe('thread merge', () => {
  test.each([
    ['code 3', 'failed', 'it ended with return code 3', ' (failed, return code 3)'],
    ['suspended', 'suspended', 'Which parser?', ' (suspended)'],
    ['interrupted', 'interrupted', 'it has not ended', ' (interrupted)'],
  ] as const)('asks before it merges the code of a thread that is %s', async (standing, status, why, named) => {
    const work = createWork();
    const { repository } = work;
    const thread = await work.leave({ 'a.txt': 'changed\n' }, standing);
    const before = stateOf(repository);
    for (const mode of [[], ['--squash'], ['--rebase'], ['--branch', 'topic']]) {
      const { code, stderr } = await repository.uwf(['thread', 'merge', thread, ...mode]);
      expect(code).toBe(2);
      expect(stderr).toContain(`thread ${thread} is ${status}: ${why}\n`);
      expect(stderr).toContain('--anyway merges it');
    }
    const answer = async (key: string): Promise<{ code: number; text: string }> => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      const stderr = recorder([], { isTTY: true });
      const { cwd, env, stdout } = { cwd: repository.dir, env: isolatedGitEnvironment, stdout: recorder([]) };
      const running = main(['thread', 'merge', thread], { stdin, stdout, stderr, cwd, env });
      while (!stderr.text.includes('[y/n]')) await sleep(5);
      stdin.write(key);
      return { code: await running, text: stderr.text + stdout.text };
    };
    expect(await answer('n')).toMatchObject({ code: 1 });
    expect(stateOf(repository)).toEqual(before);
    const { code, text } = await answer('y');
    expect(code).toBe(0);
    expect(text).toContain(`thread ${thread} is ${status}: ${why}\nMerge its code anyway? [y/n] y\n`);
    expect(text).toContain(`main has what thread ${thread}${named} did: `);
    repository.git('reset', '-q', '--hard', work.base);
    const branched = await repository.json(['thread', 'merge', thread, '--anyway', '--branch', 'topic']);
    expect(branched).toMatchObject({ outcome: 'created', status });
  });

  test('brings home the same commit each time, and none of the thread itself', async () => {
    const work = createWork();
    const thread = await work.leave({ 'a.txt': 'changed\n' }, 'idle');
    const { repository, base } = work;
    const report = (await repository.json(['thread', 'merge', thread, '--anyway'])) as { after: string; tip: string };
    expect(report).toMatchObject({ outcome: 'merged', branch: 'main', before: base, after: report.tip, files: [] });
    expect(repository.git('log', '--format=%B%an %cn', `${base}..main`)).toBe(
      `Mend the parser.\n\nUwf-Thread: ${thread}\nC O Mitter C O Mitter`,
    );
    expect(repository.git('rev-parse', 'ORIG_HEAD')).toBe(base);
    expect(repository.git('status', '--porcelain')).toBe('');
    expect(readFileSync(join(repository.dir, 'a.txt'), 'utf8')).toBe('changed\n');
    expect(await repository.json(['thread', 'merge', thread, '--anyway'])).toMatchObject({
      outcome: 'up-to-date',
      after: report.after,
    });

    // An end adds a summary to the message, and another user is another author.
    const opened = await repository.open();
    const { readState } = await import('../../../src/thread/thread-state.ts');
    const { getThread } = await import('../../../src/thread/find-thread.ts');
    const { id, head } = await getThread(opened, thread);
    await endThread(opened, await readState(opened, id, head), {
      outcome: 'completed',
      summary: 'It parses.',
      returnCode: 0,
    });
    await opened.close();
    for (const mode of [[], ['--squash'], ['--rebase']]) {
      const again = await repository.json(['thread', 'merge', thread, ...mode]);
      expect(again).toMatchObject({ outcome: 'up-to-date', before: report.after, after: report.after });
    }
    repository.git('reset', '-q', '--hard', base);
    await repository.json(['thread', 'merge', thread, '--squash']);
    expect(repository.git('log', '-1', '--format=%B')).toBe(
      `Mend the parser.\n\nIt parses.\n\nUwf-Thread: ${thread}\n`,
    );
    expectCleanFsck(repository.dir);
    expect(readdirSync(join(repository.dir, '.git/uwf/merges'))).toEqual([]);
  });

  test('leaves a conflict as git does, or with --squash and --rebase changes nothing', async () => {
    const work = createWork();
    const thread = await work.leave({ 'a.txt': 'one\ntheirs\nthree\n' });
    const { repository } = work;
    repository.write('a.txt', 'one\nours\nthree\n');
    repository.git('commit', '-qam', 'ours');
    const before = stateOf(repository);
    for (const mode of ['--squash', '--rebase']) {
      await repository.says(`thread merge ${thread} ${mode}`, 5, '\n  a.txt\n', 'nothing was changed');
      expect(stateOf(repository)).toEqual(before);
    }
    const { code, stderr } = await repository.uwf(['thread', 'merge', thread]);
    expect(code).toBe(5);
    expect(stderr).toContain("'git merge --abort' goes back");
    expect(repository.git('status', '--porcelain')).toBe('UU a.txt');
    expect(readFileSync(join(repository.dir, 'a.txt'), 'utf8')).toContain('<<<<<<< HEAD\nours\n=======\ntheirs\n');
    await expectNothingChanged(work, ['thread', 'merge', thread], { code: 'operation-in-progress' });
    repository.write('a.txt', 'both\n');
    repository.git('commit', '-qa', '--no-edit');
    expect(repository.git('log', '-1', '--format=%s')).toBe(`Merge thread ${thread}`);
    expect(repository.git('log', '--format=%an', 'main')).not.toContain('writer');
  });

  test('leaves a conflict that git resolves from its memory, too: a person looks at it', async () => {
    const work = createWork();
    const thread = await work.leave({ 'a.txt': 'one\ntheirs\nthree\n' });
    const { repository } = work;
    repository.write('a.txt', 'one\nours\nthree\n');
    repository.git('commit', '-qam', 'ours');
    repository.git('config', 'rerere.enabled', 'true');
    repository.git('config', 'rerere.autoUpdate', 'true');
    for (const content of ['one\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>>', 'one\nboth\nthree\n']) {
      expect(await repository.uwf(['thread', 'merge', thread])).toMatchObject({ code: 5 });
      expect(repository.git('status', '--porcelain')).toBe('UU a.txt');
      expect(readFileSync(join(repository.dir, 'a.txt'), 'utf8')).toContain(content);
      repository.write('a.txt', 'one\nboth\nthree\n');
      repository.git('commit', '-qa', '--no-edit');
      repository.git('reset', '-q', '--hard', 'HEAD~');
    }
  });

  test.each([[[]], [['--squash']], [['--rebase']]])(
    'changes nothing where something stands in its way (%j)',
    async (mode) => {
      const work = createWork();
      const thread = await work.leave({ 'new.log': 'theirs\n', 'a.txt': 'changed\n', 'dir/c.txt': 'c\n' });
      const { repository } = work;
      const merge = ['thread', 'merge', thread, ...mode];
      const { dir } = repository;
      writeFileSync(join(dir, 'src/b.txt'), 'not committed\n');
      await expectNothingChanged(work, merge, { code: 'dirty-work-tree', paths: ['src/b.txt'] });
      repository.git('add', '--all');
      await expectNothingChanged(work, merge, { code: 'dirty-work-tree' });
      repository.git('reset', '-q', '--hard');
      writeFileSync(join(dir, 'new.log'), 'ignored, and of the user\n');
      await expectNothingChanged(work, merge, { code: 'file-in-the-way', paths: ['new.log'] });
      repository.git('clean', '-qfx');
      writeFileSync(join(dir, 'dir'), 'a file where a folder would be\n');
      await expectNothingChanged(work, merge, { code: 'file-in-the-way', paths: ['dir'] });
      repository.git('clean', '-qfd');
      mkdirSync(join(dir, 'new.log'));
      writeFileSync(join(dir, 'new.log', 'of.log'), 'ignored, in a folder where a file would be');
      await expectNothingChanged(work, merge, { code: 'file-in-the-way', paths: ['new.log'] });
      repository.git('clean', '-qfdx');
      repository.git('checkout', '-q', '--orphan', 'other');
      repository.git('rm', '-rqf', '.');
      await expectNothingChanged(work, merge, { code: 'unborn-branch' });
      repository.git('commit', '-q', '--allow-empty', '-m', 'other');
      await expectNothingChanged(work, merge, { code: 'unrelated-histories' });
      repository.git('checkout', '-q', 'main');
      expect(await repository.json(merge)).toMatchObject({ outcome: 'merged', branch: 'main' });
    },
  );

  test('changes nothing where the branch moves meanwhile, before the files are written and after', async () => {
    const work = createWork({ '.gitattributes': 'a.txt merge=own\nmoving.txt filter=own\n' });
    work.commit({ 'a.txt': 'theirs\ntwo\nthree\n' });
    const thread = await work.leave({ 'moving.txt': 'text\n' });
    const { repository } = work;
    repository.write('a.txt', 'one\ntwo\nours\n');
    repository.git('commit', '-qam', 'ours');
    repository.git('commit', '-q', '--allow-empty', '-m', 'of another');
    const other = repository.git('rev-parse', 'HEAD');
    repository.git('reset', '-q', '--hard', 'HEAD~');
    const head = repository.git('rev-parse', 'HEAD');
    const moving = `git update-ref refs/heads/main ${other}`;
    for (const [key, program] of [
      ['merge.own.driver', `${moving}; cp %B %A`],
      ['filter.own.smudge', `${moving}; cat`],
    ]) {
      repository.git('config', key ?? '', program ?? '');
      const index = repository.git('ls-files', '-s');
      const { code, stderr } = await repository.uwf(['thread', 'merge', thread, '--json']);
      expect(code).toBe(5);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'target-moved', branch: 'refs/heads/main', head } });
      expect(repository.git('ls-files', '-s')).toBe(index);
      expect(repository.git('rev-parse', 'main')).toBe(other);
      expect(repository.git('status', '--porcelain')).toBe('');
      repository.git('reset', '-q', '--soft', head);
      repository.git('config', '--unset', key ?? '');
    }
    expect(await repository.json(['thread', 'merge', thread])).toMatchObject({ outcome: 'merged' });
  });

  test('a killed merge changes nothing, and gc removes what it left', async () => {
    const work = createWork({ '.gitattributes': 'a.txt merge=own\n' });
    const thread = await work.leave({ 'a.txt': 'theirs\n' });
    const { repository } = work;
    repository.write('a.txt', 'ours\n');
    repository.git('commit', '-qam', 'ours');
    repository.git('config', 'merge.own.driver', 'kill -9 $UWF_HERE; exit 1');
    const before = stateOf(repository);
    const env = { ...isolatedGitEnvironment };
    const { signal } = spawnSync(
      'sh',
      ['-c', 'UWF_HERE=$$ exec "$@"', 'sh', process.execPath, binary, 'thread', 'merge', thread],
      { cwd: repository.dir, env },
    );
    expect(signal).toBe('SIGKILL');
    expect(stateOf(repository)).toEqual(before);
    const merges = join(repository.dir, '.git/uwf/merges');
    expect(readdirSync(merges)).toHaveLength(1);
    expect(repository.git('worktree', 'list')).not.toContain('merges');
    expect(await repository.json(['gc'])).toMatchObject({ temporary: 1 });
    expect(readdirSync(merges)).toEqual([]);
  });

  test('keeps secrets out, also those that a later commit took away, unless they are allowed', async () => {
    const work = createWork();
    const committed = work.commit({ 'key.txt': `token = ${secret}\n` });
    const thread = await work.leave({ 'key.txt': 'none\n' });
    const places = [{ commit: committed, file: 'key.txt', at: 'line 1' }];
    for (const mode of [[], ['--rebase'], ['--branch', 'topic']])
      await expectNothingChanged(work, ['thread', 'merge', thread, ...mode], { code: 'code-holds-secrets', places });
    const told = await work.repository.uwf(['thread', 'merge', thread]);
    expect(told.stderr).toContain('key.txt line 1');
    expect(told.all).not.toContain(secret);
    expect(await work.repository.json(['thread', 'merge', thread, '--squash'])).toMatchObject({ outcome: 'merged' });
    work.repository.git('reset', '-q', '--hard', work.base);
    const allowed = await work.repository.json(['thread', 'merge', thread, '--allow-secrets']);
    expect(allowed).toMatchObject({ outcome: 'merged' });
    const other = await work.leave({ 'other.txt': secret });
    await expectNothingChanged(work, ['thread', 'merge', other, '--squash'], { code: 'code-holds-secrets' });
  });

  test("refuses code that builds on uwf's own commits, and takes its files as one commit", async () => {
    const work = createWork();
    const first = await work.leave({ 'a.txt': 'first\n' }, 'idle');
    const { there } = work;
    runGit(there, ['commit', '-qm', 'the files']);
    runGit(there, [
      'merge',
      '-q',
      '--allow-unrelated-histories',
      '-s',
      'ours',
      '-m',
      'a thread',
      `refs/threads/${first}`,
    ]);
    const thread = await work.leave({ 'src/b.txt': 'second\n' });
    for (const mode of [[], ['--rebase'], ['--branch', 'topic']])
      await expectNothingChanged(work, ['thread', 'merge', thread, ...mode], { code: 'uwf-commit-in-code' });
    expect(await work.repository.json(['thread', 'merge', thread, '--squash'])).toMatchObject({ outcome: 'merged' });
    expect(work.repository.git('rev-list', '--count', 'main')).toBe('2');
  });

  test('makes a branch, in a bare repository too, and moves none', async () => {
    const work = createWork();
    const thread = await work.leave({ 'a.txt': 'changed\n' });
    const { repository } = work;
    const made = (await repository.json(['thread', 'merge', thread, '--branch', 'topic/one'])) as { tip: string };
    expect(made).toMatchObject({
      mode: 'branch',
      outcome: 'created',
      branch: 'topic/one',
      before: null,
      after: made.tip,
    });
    expect(repository.git('rev-parse', 'topic/one')).toBe(made.tip);
    expect(repository.git('status', '--porcelain')).toBe('');
    expect(await repository.json(['thread', 'merge', thread, '-b', 'topic/one'])).toMatchObject({
      outcome: 'up-to-date',
    });
    for (const [name, code] of [
      ['main', 'branch-exists'],
      ['-x', 'invalid-branch'],
      ['a..b', 'invalid-branch'],
      ['HEAD', 'invalid-branch'],
    ]) {
      const refused = await repository.uwf(['thread', 'merge', thread, `--branch=${name}`, '--json']);
      expect(refused.code).toBe(2);
      expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code } });
    }
    const bare = createTemporaryFolder();
    repository.git('clone', '-q', '--mirror', repository.dir, bare);
    const inBare = { cwd: bare };
    expect(await repository.json(['thread', 'merge', thread, '--branch', 'more'], inBare)).toMatchObject({
      after: made.tip,
    });
    expect((await repository.uwf(['thread', 'merge', thread], inBare)).stderr).toContain('no work tree');
  });

  test.each([[[]], [['--squash']], [['--rebase']]])('merges in a repository of SHA-256 too (%j)', async (mode) => {
    const work = createWork({}, { objectFormat: 'sha256' });
    work.commit({ 'new.txt': 'new\n', 'a.txt': 'ONE\ntwo\nthree\n' });
    const thread = await work.leave({ 'more.txt': 'more\n' }, 'idle');
    const { repository } = work;
    expect(await repository.json(['thread', 'merge', thread, ...mode, '--anyway'])).toMatchObject({
      outcome: 'merged',
    });
    expectCleanFsck(repository.dir);
  });

  test('goes into a detached HEAD and into a linked work tree as into a branch', async () => {
    const work = createWork();
    const thread = await work.leave({ 'a.txt': 'changed\n' });
    const { repository, base } = work;
    const other = join(createTemporaryFolder(), 'other');
    repository.git('worktree', 'add', '-q', '-b', 'side', other);
    expect(await repository.json(['-C', other, 'thread', 'merge', thread, '--rebase'])).toMatchObject({
      branch: 'side',
    });
    expect(readFileSync(join(other, 'a.txt'), 'utf8')).toBe('changed\n');
    expect(repository.git('rev-parse', 'main')).toBe(base);
    repository.git('checkout', '-q', '--detach');
    expect(await repository.json(['thread', 'merge', thread])).toMatchObject({ outcome: 'merged', branch: null });
    expect(repository.git('rev-parse', 'main')).toBe(base);
    expect(repository.git('diff', '--stat', 'side')).toBe('');
  });

  test('merges the newest files, and is refused in the work tree of the thread itself', async () => {
    const work = createWork();
    const state = createTemporaryFolder();
    const env = { XDG_STATE_HOME: state };
    const thread = await work.leave({ 'a.txt': 'changed\n' }, 'idle');
    const { repository } = work;
    const folder = (await repository.uwf(['thread', 'open', thread, '--print'], { env })).stdout.trim();
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('changed\n');
    expect(folder.startsWith(join(state, 'uwf/worktrees'))).toBe(true);
    expect(await repository.json(['thread', 'open', thread], { env })).toEqual({ thread, folder });
    const refused = await repository.uwf(['-C', folder, 'thread', 'merge', thread, '--json'], { env });
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'own-work-tree' } });
    expect(refused.code).toBe(2);
    const shell = await repository.uwf(['thread', 'open', thread, '--shell'], { env });
    expect(shell).toMatchObject({ code: 2 });

    const opened = await repository.open();
    const { readState } = await import('../../../src/thread/thread-state.ts');
    const { getThread } = await import('../../../src/thread/find-thread.ts');
    const { id, head } = await getThread(opened, thread);
    const tree = repository.git('rev-parse', 'main^{tree}');
    await leaveFiles(opened, await readState(opened, id, head), { checkedOut: work.base, tree });
    await opened.close();
    const again = await repository.json(['thread', 'merge', thread, '--anyway']);
    expect(again).toMatchObject({ outcome: 'up-to-date', tip: work.base });
  });
});

test('thread open starts the editor or the shell of the user in the work tree, and no editor of the repository', async () => {
  const work = createWork();
  const thread = await work.leave({ 'a.txt': 'changed\n' });
  const { repository } = work;
  const shell = join(createTemporaryFolder(), 'own shell');
  writeFileSync(shell, '#!/bin/sh\ntouch by-shell\n', { mode: 0o755 });
  repository.git('config', 'core.editor', 'touch by-repository');
  const env = { ...isolatedGitEnvironment, XDG_STATE_HOME: createTemporaryFolder(), SHELL: shell };
  const open = async (words: string[], more: Record<string, string> = {}): Promise<number> => {
    const terminal = { isTTY: true, columns: 80 };
    const stdin = Object.assign(Readable.from([]), terminal);
    const [stdout, stderr] = [recorder([], terminal), recorder([], terminal)];
    return main(['thread', 'open', thread, ...words], {
      stdin,
      stdout,
      stderr,
      cwd: repository.dir,
      env: { ...env, ...more },
    });
  };
  expect(await open([])).toBe(0);
  expect(await open(['--editor'])).toBe(1);
  expect(await open([], { EDITOR: 'f() { cp "$1/a.txt" by-editor; }; f' })).toBe(0);
  const folder = (await repository.uwf(['thread', 'open', thread], { env })).stdout.trim();
  expect(readdirSync(folder).filter((name) => name.startsWith('by-'))).toEqual(['by-editor', 'by-shell']);
  expect(readFileSync(join(folder, 'by-editor'), 'utf8')).toBe('changed\n');
});

describe('a merge whose process was killed after it had written the files', () => {
  /** As it is left: files and index of the new commit, the branch where it was. */
  async function killedMerge(): Promise<Work & { thread: string; to: string }> {
    const work = createWork();
    const { repository, base } = work;
    const thread = await work.leave({ 'new.txt': 'new\n' });
    expect(await repository.uwf(['thread', 'merge', thread])).toMatchObject({ code: 0 });
    const to = repository.git('rev-parse', 'HEAD');
    repository.git('reset', '-q', '--hard', base);
    noteMove(
      { gitDir: join(repository.dir, '.git') },
      {
        head: parseObjectId(base),
        to: parseObjectId(to),
        reason: `thread merge ${thread}`,
      },
    );
    repository.git('read-tree', '-m', '-u', base, to);
    return { ...work, thread, to };
  }

  test('is finished by the next one', async () => {
    const { repository, thread, to } = await killedMerge();
    expect(await repository.uwf(['thread', 'merge', thread])).toMatchObject({ code: 0 });
    expect(repository.git('rev-parse', 'HEAD')).toBe(to);
    expect(repository.git('status', '--porcelain')).toBe('');
    expect(existsSync(join(repository.dir, '.git/uwf/moving'))).toBe(false);
  });

  test('is left to the user who has changed a file since', async () => {
    const { repository, base, thread } = await killedMerge();
    writeFileSync(join(repository.dir, 'a.txt'), 'mine\n');
    const result = await repository.uwf(['thread', 'merge', thread]);
    expect(result).toMatchObject({ code: 1 });
    expect(result.stderr).toContain('has changes that are not committed');
    expect(repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(readFileSync(join(repository.dir, 'a.txt'), 'utf8')).toBe('mine\n');
  });
});
