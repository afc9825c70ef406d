import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shells } from '../../src/cli/commands/completion.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import { activeRef } from '../../src/thread/thread-id.ts';
import { createLoopRepository, runCommand } from '../helpers/cli.ts';

const { uwf, json, git } = createLoopRepository();
git('remote', 'add', 'origin', 'https://example.org/x.git');
git('remote', 'add', 'up/stream', 'https://example.org/y.git');
const { thread } = (await json(['thread', 'start', 'loop', '-p', 'the task'])) as { thread: string };

/** What is offered for the last word of a line. */
async function offered(...words: string[]): Promise<string[]> {
  const { stdout } = await uwf(['__complete', ...words]);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0] ?? '');
}

test.each([
  [
    [''],
    [
      'init',
      'run',
      'log',
      'workflow',
      'thread',
      'step',
      'cas',
      'schema',
      'push',
      'fetch',
      'sync',
      'archive',
      'agent',
      'trust',
      'web',
      'worker',
      'mcp',
      'fsck',
      'scan',
      'reindex',
      'doctor',
      'gc',
      'completion',
      'help',
    ],
  ],
  [['th'], ['thread']],
  [
    ['thread', 's'],
    ['show', 'start', 'step', 'stop'],
  ],
  [['thread', 'show', ''], [thread]],
  [['thread', 'show', thread.slice(0, 8).toLowerCase()], [thread]],
  [['thread', 'show', thread, ''], []],
  [['thread', 'show', '--j'], ['--json']],
  [['thread', '--st'], ['--status']],
  [['thread', 'list', '--status', 'su'], ['suspended']],
  [['run', 'l'], ['loop']],
  [['run', '-p', ''], []],
  [['run', '-p', 'x', 'l'], ['loop']],
  [['agent', 'show', ''], ['script']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [['workflow', 'graph', 'loop', '--format', 'm'], ['mermaid']],
  [
    ['push', ''],
    ['origin', 'up/stream'],
  ],
  [['push', 'origin', ''], [thread]],
  [['push', 'origin', thread, ''], [thread]],
  [['init', '--remote', 'up'], ['up/stream']],
  [['nonsense', ''], []],
])('%j is completed by %j', async (words, expected) => {
  expect(await offered(...words)).toEqual(expected);
});

test.each([
  [
    ['help', 'wor'],
    ['workflow', 'worker'],
  ],
  [
    ['help', 'thread', 's'],
    ['show', 'start', 'step', 'stop'],
  ],
  [['--help', 'gc'], ['gc']],
  [['help', 'thread', 'show', ''], []],
  [['init', '--with', 'dev'], ['develop']],
  [['init', '-C', '/', '--with', 'find'], ['find-regression']],
])('%j is completed by %j everywhere', async (words, expected) => {
  expect(await offered(...words)).toEqual(expected);
});

describe('behind -C', () => {
  const there = createLoopRepository();
  there.write('.uwf/workflows/elsewhere.yaml', 'name: elsewhere\n');

  test('the candidates are those of that folder', async () => {
    const other = await there.start('loop', 'there');
    expect(await offered('-C', there.dir, 'thread', 'show', '')).toEqual([other]);
    expect(await offered(`-C${there.dir}`, 'thread', 'show', '')).toEqual([other]);
    expect(await offered('--no-pager', '-C', there.dir, 'thread', 'sh')).toEqual(['show']);
    expect(await offered('thread', 'show', '-C', there.dir, '')).toEqual([other]);
    expect(await offered('run', '-C', there.dir, 'else')).toEqual(['elsewhere']);
    expect(await offered('-C', `'${there.dir}'`, 'run', 'else')).toEqual(['elsewhere']);
    expect(await offered('-C', '/nonexistent', 'thread', 'show', '')).toEqual([]);
    expect(await offered('-C', '')).toEqual([]);
    const home = { env: { HOME: there.dir } };
    expect((await uwf(['__complete', '-C', '~', 'run', 'else'], home)).stdout).toMatch(/^elsewhere\t/);
    expect((await uwf(['__complete', '-C', '~/.uwf', 'run', 'else'], home)).stdout).toMatch(/^elsewhere\t/);
  });
});

test('of many threads the newest are offered, and older ones that begin as the word does', async () => {
  const { dir, open, ...repository } = createLoopRepository();
  const { thread: oldest, head } = (await repository.json(['thread', 'start', 'loop', '-p', 'x'])) as {
    thread: string;
    head: string;
  };
  const store = await open();
  const value = parseObjectId(head);
  const names = Array.from({ length: 60 }, () => activeRef(newThreadId(store, store.now() + 86_400_000)));
  await store.refs.update(names.map((name) => ({ name, expected: null, value })));
  await store.close();
  const newest = await offered('-C', dir, 'thread', 'show', '');
  expect(newest).toHaveLength(50);
  expect(newest).not.toContain(oldest);
  expect(await offered('-C', dir, 'thread', 'show', oldest.slice(0, 10).toLowerCase())).toEqual([oldest]);
  expect(await offered('-C', dir, 'cas', 'list', '-t', oldest.slice(0, 10))).toEqual([oldest]);
});

test('steps are offered by number and hash where a thread is named, else by hash', async () => {
  const { dir, ...repository } = createLoopRepository();
  const start = async (): Promise<string> => {
    const run = (await repository.json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
    return run.thread;
  };
  const stepsOf = async (id: string): Promise<string[]> =>
    ((await repository.json(['step', 'list', id])) as { step: string }[]).map(({ step }) => step);
  const [one, two] = [await start(), await start()];
  await repository.uwf(['thread', 'run', one]);
  await repository.uwf(['thread', 'step', two]);
  const [first = '', second = '', third = '', fourth = ''] = await stepsOf(one);
  const of = async (...words: string[]): Promise<string[]> => (await offered('-C', dir, ...words)).toSorted();
  const numbered = ['1', '2', '3', '4', first, second, third, fourth].toSorted();
  expect(await of('thread', 'fork', one, '--at', '')).toEqual(numbered);
  expect(await of('thread', 'ask', one, '--at', second.slice(0, 6).toLowerCase())).toEqual([second]);
  expect(await of('step', 'show', '-t', one, '')).toEqual(numbered);
  expect(await of('step', 'show', '')).toEqual([first, second, third, fourth, ...(await stepsOf(two))].toSorted());
  expect(await of('step', 'read', third.slice(0, 8))).toEqual([third]);
  expect(await of('step', 'list', one, '--before', '3')).toContain('3');

  // In a real shell, with the real program.
  const { stdout: script } = await runCommand(['completion', 'bash']);
  const typed = `uwf -C ${dir} thread fork ${one} --at ''`.split(' ');
  const ask = `${script}
uwf() { '${process.execPath}' '${join(packageRoot(), 'bin/uwf.js')}' "$@"; }
COMP_WORDS=(${typed.join(' ')}) COMP_CWORD=${typed.length - 1}; _uwf; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = spawnSync('bash', ['-c', ask], { encoding: 'utf8', cwd: '/' });
  expect(stdout.trimEnd().split('\n').toSorted()).toEqual(numbered);
});

test('outside a repository it offers nothing, and no error', async () => {
  expect(await runCommand(['__complete', 'thread', 'show', ''], { cwd: '/' })).toMatchObject({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test.each(shells)('there is a script for %s', async (shell) => {
  const { code, stdout } = await runCommand(['completion', shell]);
  expect(code).toBe(0);
  expect(stdout).toContain('uwf __complete');
  const parsed = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' });
  // Not every machine has every shell.
  if (parsed.error === undefined) expect(parsed).toMatchObject({ status: 0, stderr: '' });
});

test('bash completes with it', async () => {
  const { stdout: script } = await runCommand(['completion', 'bash']);
  const ask = `${script}
uwf() { [ "$1" = __complete ] && printf '%s\\t%s\\n' show 'a b' start c; }
COMP_WORDS=(uwf thread s) COMP_CWORD=2 _uwf; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(spawnSync('bash', ['-c', ask], { encoding: 'utf8' }).stdout).toBe('show\nstart\n');
});

test('another shell is refused', async () => {
  expect(await runCommand(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
});
