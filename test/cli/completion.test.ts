import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shells } from '../../src/cli/completion/scripts.ts';
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
      'agent',
      'trust',
      'mcp',
      'fsck',
      'scan',
      'reindex',
      'doctor',
      'gc',
      'completion',
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
