import { describe, expect, test } from 'vitest';
import { findCommand } from '../../../src/cli/command-line/read-words.ts';
import { commandNameOf } from '../../../src/cli/main.ts';
import { UsageError } from '../../../src/cli/errors/exit-code.ts';

test.each([
  [['run', 'x'], 'run', ['x']],
  [['thread', 'show', 'x'], 'thread show', ['x']],
  [['thread'], 'thread list', []],
  [['thread', '--all', '-n', '3'], 'thread list', ['--all', '-n', '3']],
  [['-C', 'dir', '--no-pager', 'thread', 'show'], 'thread show', []],
  [['-Cdir', 'log', '-C', 'other'], 'log', ['-C', 'other']],
  [['help', 'thread', 'show'], 'thread show', ['--help']],
  [['-h', 'thread', 'show'], 'thread show', ['--help']],
])('%j is the command %s', (argv, name, rest) => {
  expect(findCommand(argv)).toMatchObject({ kind: 'command', entry: { name }, argv: rest });
});

test('what stands in front of the name is read', () => {
  expect(findCommand(['-C', 'dir', '--no-pager', 'log'])).toMatchObject({ front: { C: 'dir', pager: false } });
  expect(() => findCommand(['-C'])).toThrow('-C needs a value: <folder>');
});

test.each([[[]], [['--help']], [['-h']], [['help']]])('%j is help for everything', (argv) => {
  expect(findCommand(argv)).toEqual({ kind: 'help', noun: undefined });
});

test('a noun has help of its own', () => {
  expect(findCommand(['cas', '--help'])).toEqual({ kind: 'help', noun: 'cas' });
  expect(findCommand(['help', 'cas'])).toEqual({ kind: 'help', noun: 'cas' });
  expect(findCommand(['-h', 'cas'])).toEqual({ kind: 'help', noun: 'cas' });
});

describe('what is not a command', () => {
  test.each([
    [['thred'], "did you mean 'uwf thread'?"],
    [['rnu', 'x'], "did you mean 'uwf run'?"],
    [['resume', 'x'], "did you mean 'uwf thread resume'?"],
    [['xyzzy'], "run 'uwf --help' to see all commands"],
    [['--jsno'], "run 'uwf --help' to see what there is"],
    [['thread', 'shwo'], "did you mean 'uwf thread show'?"],
    [['thread', '01KAM4'], expect.stringContaining("'uwf thread show 01KAM4' shows one")],
    [['__proto__'], "run 'uwf --help' to see all commands"],
  ])('%j comes with what could be meant', (argv, hint) => {
    let error: unknown;
    try {
      findCommand(argv);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ hint });
  });
});

test.each([
  ['push origin', 'push'],
  ['-C there push', 'push'],
  ['thread', 'thread list'],
  ['push --help', 'help'],
  ['help push', 'help'],
  ['help', 'help'],
  ['thread -h', 'help'],
  ['--version', ''],
  ['nothing', ''],
])('what is compiled for `uwf %s` is kept for `%s`', (words, name) => {
  expect(commandNameOf(words.split(' '))).toBe(name);
});
