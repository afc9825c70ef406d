import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandTable } from '../../src/cli/commands/command-table.ts';
import { createCliRepository, createLoopRepository, runCommand } from '../helpers/cli.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';

type Failure = { error: Record<string, unknown> };

const commands = await Promise.all(commandTable.map(async ({ name, load }) => ({ name, command: await load() })));

/** As many arguments as a command takes, none of which exist. */
const argumentsOf = ({ command }: (typeof commands)[number]): string[] =>
  command.arguments.map((spec) => (spec.name === 'shell' ? 'bash' : 'nothing-of-this-name'));
const fixed = commands.filter(({ command }) => !command.arguments.some((spec) => spec.isRepeatable));
const inRepository = commands.filter(({ name }) => name !== 'completion');
const withArguments = commands.filter(({ command }) => command.arguments.some((spec) => !spec.isOptional));
const inRepositoryWithArguments = inRepository.filter((entry) => withArguments.includes(entry));

/** A command line that is in order. */
function wordsOf(entry: (typeof commands)[number]): string[] {
  const options = entry.command.options['prompt']?.value ? ['-p', 'x'] : [];
  return [...entry.name.split(' '), ...argumentsOf(entry), ...options];
}

test.each(commands)('uwf $name refuses an option that it does not have', async (entry) => {
  expect(await runCommand([...wordsOf(entry), '--no-such-option'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^uwf: 'uwf [a-z ]+' has no option --no-such-option\nhint: /),
  });
});

test.each(fixed)('uwf $name refuses an argument too many', async (entry) => {
  expect(await runCommand([...wordsOf(entry), 'one-too-many'])).toMatchObject({ code: 2, stdout: '' });
});

test.each(withArguments)('uwf $name asks for an argument that is missing', async ({ name }) => {
  expect(await runCommand(name.split(' '))).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('needs a'),
  });
});

test.each(inRepository)('uwf $name says where there is no repository', async (entry) => {
  const { code, stderr } = await runCommand(wordsOf(entry), { cwd: createTemporaryFolder() });
  expect(stderr).not.toContain('bug');
  // What is wrong with the command line itself is said first.
  expect(code, stderr).toBe(stderr.includes('not in a git repository') ? 1 : 2);
});

test.each(inRepositoryWithArguments)('uwf $name says which thing it does not find', async (entry) => {
  const { uwf } = createLoopRepository();
  const result = await uwf(wordsOf(entry));
  expect(result).toMatchObject({ stdout: '', stderr: expect.stringMatching(/^uwf: .+\nhint: .+\n$/s) });
  expect([1, 2, 6]).toContain(result.code);
});

describe('errors under --json', () => {
  test('are one object on stderr with code, kind, message, hint and facts', async () => {
    const { uwf } = createLoopRepository();
    const { code, stdout, stderr } = await uwf(['thread', 'show', 'nothing', '--json']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect((JSON.parse(stderr) as Failure).error).toEqual({
      code: 'thread-not-found',
      kind: 'usage',
      message: "there is no thread 'nothing'",
      hint: expect.any(String),
      text: 'nothing',
    });
  });

  test('are so too where the command line is what is wrong', async () => {
    const { stderr } = await runCommand(['thread', 'shwo', '--json']);
    expect((JSON.parse(stderr) as Failure).error).toMatchObject({ code: 'usage', kind: 'usage' });
    expect((await runCommand(['thread', 'shwo', '--', '--json'])).stderr).toMatch(/^uwf: /);
  });

  test('name a missing agent and carry every mistake of a workflow', async () => {
    const { uwf, write } = createCliRepository();
    write('.uwf/workflows/one.yaml', 'name: one\n');
    const { stderr } = await uwf(['run', 'one', '-p', 'x', '--json']);
    expect((JSON.parse(stderr) as Failure).error).toMatchObject({
      code: 'invalid-workflow',
      diagnostics: expect.arrayContaining([expect.objectContaining({ line: 1, severity: 'error' })]),
    });
  });
});

test('a bug says that it is one, with its stack under UWF_DEBUG, and exits 70', async () => {
  const { dir } = createLoopRepository();
  const now = (): number => {
    throw new TypeError('the clock is broken');
  };
  const quiet = await runCommand(['thread', 'list'], { cwd: dir, now });
  expect(quiet).toMatchObject({
    code: 70,
    stderr: expect.stringContaining('this is a bug in uwf: the clock is broken'),
  });
  expect(quiet.stderr).not.toContain('at now');
  const loud = await runCommand(['thread', 'list'], { cwd: dir, now, env: { UWF_DEBUG: '1' } });
  expect(loud.stderr).toMatch(/\n {4}at /);
});

test('a query that is no JSONata, or has no end, is an error and not a hang', async () => {
  const { uwf } = createLoopRepository();
  expect(await uwf(['thread', 'list', '--query', '$['])).toMatchObject({ code: 2, stdout: '' });
  expect(await uwf(['thread', 'list', '--query', '($f := function($x){ $f($x) }; $f(1))'])).toMatchObject({
    code: 1,
    stdout: '',
  });
  expect(await uwf(['thread', 'list', '--query', '$millis() > 0'])).toMatchObject({ code: 0, stdout: 'true\n' });
  expect(await uwf(['thread', 'list', '--query', 'nothing'])).toMatchObject({ code: 0, stdout: '' });
});

test('a repository that uwf does not speak is refused by name', async () => {
  const { dir, git } = createTemporaryRepository();
  git('config', 'core.repositoryFormatVersion', '2');
  expect(await runCommand(['thread', 'list'], { cwd: dir })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('repositoryFormatVersion 2'),
  });
});

test('a configuration with mistakes is said with every place', async () => {
  const { uwf, write } = createLoopRepository();
  write('.uwf/config.yaml', 'agents:\n  a: { pakcage: x }\nroels: {}\n');
  const { code, stderr } = await uwf(['run', 'loop', '-p', 'x']);
  expect(code).toBe(2);
  expect(stderr.match(/config\.yaml:\d+:\d+/g)?.length).toBeGreaterThanOrEqual(2);
});

describe('the command line itself', () => {
  test.each([
    ['a folder that is not there', ['-C', '/no/such/folder', 'thread', 'list'], 'there is no folder /no/such/folder'],
    ['a poll without a pause', ['worker', '--poll', '0'], '--poll needs a time from 100ms on'],
    ['a query that is not JSONata', ['thread', 'list', '--query', '((('], "--query: the expression '((('"],
  ])('%s is a mistake of usage', async (_what, words, said) => {
    const { code, stdout, stderr } = await createLoopRepository().uwf(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(said);
  });

  const longName = 'n'.repeat(300);
  test.each([
    ['the folder', 'is a link in a circle', ['-C', 'circle', 'thread', 'list'], 'links lead in a circle'],
    ['the folder', 'has a long name', ['-C', longName, 'thread', 'list'], 'the name is too long for a file'],
    ['an export', 'leads over such a link', ['web', '--export', 'circle/new'], 'links lead in a circle'],
    ['an export', 'has a long name', ['web', '--export', longName], 'the name is too long for a file'],
  ])('%s that %s is a mistake of usage', async (_what, _how, words, said) => {
    const { uwf, dir } = createLoopRepository();
    symlinkSync('circle', join(dir, 'circle'));
    const { code, stdout, stderr } = await uwf(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(said);
  });

  test('a query is looked at before anything is done', async () => {
    const { uwf, git } = createLoopRepository();
    expect(await uwf(['thread', 'start', 'loop', '-p', 'x', '--query', '$.('])).toMatchObject({ code: 2 });
    expect(git('for-each-ref', 'refs/threads')).toBe('');
  });
});
