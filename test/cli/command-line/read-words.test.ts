import { describe, expect, test } from 'vitest';
import { type Command, defineCommand, parseCount } from '../../../src/cli/command-line/command.ts';
import { readWords, toCommander } from '../../../src/cli/command-line/read-words.ts';
import { UsageError } from '../../../src/cli/errors/exit-code.ts';

const command = defineCommand({
  arguments: [
    { name: 'first', summary: 'the first' },
    { name: 'second', summary: 'the second', isOptional: true },
  ],
  options: {
    where: { value: '<place>', isValueOptional: true, summary: 'a place, or some place' },
    text: { short: 't', value: '<text>', summary: 'a text' },
    count: { short: 'c', value: '<n>', summary: 'a number', parse: parseCount },
    tag: { value: '<tag>', summary: 'tags', isRepeatable: true, candidates: ['a', 'b', 'c'] },
    force: { short: 'f', summary: 'a switch', conflicts: ['where'] },
  },
  json: { a: 'a', b: 'b' },
  examples: [],
  run: () => Promise.resolve(),
});

/** What help was written. */
let help = '';
const stdout = { write: (text: string | Uint8Array) => (help += String(text)) !== '' };

function parseBy(by: Command, ...argv: string[]): ReturnType<typeof readWords> {
  const commander = toCommander({ stdout, env: {} }, { name: 'try', summary: 'try it' }, by, argv);
  return readWords('try', commander, argv);
}

const parse = (...argv: string[]): ReturnType<typeof readWords> => parseBy(command, ...argv);

/** What is wrong with a command line, and what to try. */
function complaint(...argv: string[]): { message: string; hint: string | undefined } {
  try {
    parse(...argv);
  } catch (error) {
    if (error instanceof UsageError) return { message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error('it was understood');
}

describe('values', () => {
  test('stand by name, switches and lists always, single values where given', () => {
    expect(parse('x')).toMatchObject({ args: { first: 'x', second: undefined } });
    expect(parse('x')?.options).toEqual({ tag: [], force: false });
  });

  test.each([
    [['x', '--text', 'y', '-c', '3', '-f']],
    [['--text=y', '-c3', '-f', 'x']],
    [['-fc3', '-ty', '--', 'x']],
    [['-t', 'z', 'x', '--count=3', '--force', '--text', 'y']],
  ])('%j mean the same', (argv) => {
    expect(parse(...argv)).toMatchObject({ args: { first: 'x' }, options: { text: 'y', count: 3, force: true } });
  });

  test('may begin with a dash', () => {
    expect(parse('x', '-t', '- a list')).toMatchObject({ options: { text: '- a list' } });
    expect(parse('x', '-t', '-')).toMatchObject({ options: { text: '-' } });
    expect(parse('x', '--text=--force')).toMatchObject({ options: { text: '--force', force: false } });
    expect(parse('--', '--force')).toMatchObject({ args: { first: '--force' }, options: { force: false } });
    expect(parse('-')).toMatchObject({ args: { first: '-' } });
  });

  test('of a list come one by one or with commas', () => {
    expect(parse('x', '--tag', 'a,b', '--tag=c')).toMatchObject({ options: { tag: ['a', 'b', 'c'] } });
  });
});

test('an option whose value may be left out takes it after an equals sign only', () => {
  expect(parse('x')?.options).not.toHaveProperty('where');
  expect(parse('--where', 'x')).toMatchObject({ args: { first: 'x' }, options: { where: true } });
  expect(parse('x', '--where=y')).toMatchObject({ options: { where: 'y' } });
  expect(parse('x', '--where=')).toMatchObject({ options: { where: true } });
  expect(complaint('x', 'y', '--where', 'z').hint).toBe('did you mean --where=z?');
});

test('an argument that may be repeated takes all words that are left', () => {
  const many = {
    ...command,
    arguments: [
      { name: 'first', summary: 'f' },
      { name: 'rest', summary: 'r', isRepeatable: true, isOptional: true },
    ] as const,
  };
  const parseMany = (...argv: string[]): unknown => parseBy(many, ...argv)?.args;
  expect(parseMany('a')).toEqual({ first: 'a', rest: [] });
  expect(parseMany('a', '-f', 'b', '--', '-c')).toEqual({ first: 'a', rest: ['b', '-c'] });
});

describe('--json', () => {
  test('swallows no argument', () => {
    expect(parse('--json', 'x')).toMatchObject({ args: { first: 'x' }, json: true });
    expect(parse('--json=', 'x')).toMatchObject({ json: true });
  });

  test('takes fields after an equals sign, known ones only', () => {
    expect(parse('x', '--json=b,a')).toMatchObject({ json: ['b', 'a'] });
    expect(complaint('x', '--json=a,z')).toEqual({
      message: "--json has no field 'z' here",
      hint: 'the fields are a, b',
    });
  });

  test('is what --query asks for', () => {
    expect(parse('x', '--query', '$')).toMatchObject({ json: true, query: '$' });
  });

  test('is unknown to a command that prints no data', () => {
    const { json: _json, ...silent } = command;
    expect(() => parseBy(silent, 'x', '--json')).toThrow('no option --json');
  });
});

describe('what cannot be meant', () => {
  test.each([
    [[], "'uwf try' needs a first: the first"],
    [['a', 'b', 'c'], "'uwf try' does not know what to do with 'c'"],
    [['x', '--txet', 'y'], "'uwf try' has no option --txet"],
    [['x', '-z'], "'uwf try' has no option -z"],
    [['x', '-5'], "'uwf try' has no option -5"],
    [['x', '--txet=y'], "'uwf try' has no option --txet"],
    [['x', '--help=yes'], '--help takes no value'],
    [['x', '--text', '--where', 'y'], '--text needs a value: <text>'],
    [['x', '--text'], '--text needs a value: <text>'],
    [['x', '--text', '--force'], '--text needs a value: <text>'],
    [['x', '--force=yes'], '--force takes no value'],
    [['x', '--where=y', '-f'], '--force and --where exclude each other'],
    [['x', '-c', '0'], "--count needs a whole number from 1 on, not '0'"],
    [['x', '-c', '1e3'], "--count needs a whole number from 1 on, not '1e3'"],
    [['x', '--tag', 'd'], "--tag cannot be 'd'"],
    [['x', '--__proto__'], "'uwf try' has no option --__proto__"],
    [['x', '--constructor'], "'uwf try' has no option --constructor"],
  ])('%j is said to be wrong', (argv, message) => {
    expect(complaint(...argv).message).toBe(message);
  });

  test('comes with the nearest name', () => {
    expect(complaint('x', '--txet').hint).toBe('did you mean --text?');
    expect(complaint('x', '--tag', 'd').hint).toContain('a, b, c');
  });
});

test.each([[['--help']], [['a', 'b', 'c', '-h']], [['-fh']]])(
  '%j writes the help, whatever arguments there are',
  (argv) => {
    help = '';
    expect(parse(...argv)).toBeUndefined();
    expect(help).toContain('Usage: uwf try [options] <first> [second]');
  },
);
