import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineCommand, type Command } from '../../../src/cli/command-line/command.ts';
import { optionsOf, parseArguments } from '../../../src/cli/command-line/parse-arguments.ts';
import { parseCount } from '../../../src/cli/command-line/parse-value.ts';
import { fastCommands, readWordsFast } from '../../../src/cli/command-line/read-words-fast.ts';
import { readWords } from '../../../src/cli/command-line/read-words.ts';
import type { ReadWords } from '../../../src/cli/command-line/words.ts';
import { commandTable } from '../../../src/cli/commands/command-table.ts';
import { UsageError } from '../../../src/cli/errors/usage-error.ts';

const RUNS = 5000;

/** Has every kind of argument and option that a command can have. */
const everyKind = defineCommand({
  arguments: [
    { name: 'first', summary: 'the first' },
    { name: 'others', summary: 'the others', isOptional: true, isRepeatable: true },
  ],
  options: {
    where: { value: '<place>', isValueOptional: true, summary: 'a place, or some place' },
    text: { short: 't', value: '<text>', summary: 'a text' },
    count: { short: 'c', value: '<n>', summary: 'a number', parse: parseCount },
    tag: { value: '<tag>', summary: 'tags', isRepeatable: true, candidates: ['a', 'b', 'c'] },
    force: { short: 'f', summary: 'a switch' },
  },
  json: { a: 'a', b: 'b' },
  examples: [],
  run: () => Promise.resolve(),
});

const fast = commandTable.filter(({ name }) => fastCommands.has(name));
const commands: [name: string, command: Command][] = [
  ['try', everyKind],
  ...(await Promise.all(fast.map(async ({ name, load }): Promise<[string, Command]> => [name, await load()]))),
];

/** Words that a person could type after a command, right and wrong ones. */
function wordOf(command: Command): fc.Arbitrary<string> {
  const specs = Object.entries(optionsOf(command));
  const long = fc.constantFrom(
    ...specs.map(([name]) => `--${name}`),
    '--nope',
    '--no-',
    '--constructor',
    '--__proto__',
  );
  const letters = fc.constantFrom(...specs.flatMap(([, { short }]) => short ?? []), 'z', '5', '-', '=', 'é');
  const fields = Object.keys(command.json ?? {}).slice(0, 2);
  const value = fc.oneof(
    fc.constantFrom(
      '',
      '-',
      '--',
      '=',
      'x',
      'y z',
      '3',
      '-5',
      '-.5',
      '0',
      '2d',
      '2026-11-21',
      'ended',
      '01KAM4',
      'a,b',
    ),
    fc.constantFrom(...fields, fields.join(','), 'a=b', '--a=', '==', '--=x', '---', '---x', '-C', '\n', 'x\n--json'),
    long,
    fc.string({ maxLength: 6, unit: fc.constantFrom('-', '=', 'n', 't', 'C', '5', '.', 'e', '"') }),
  );
  const cluster = fc.array(letters, { minLength: 1, maxLength: 3 }).map((some) => `-${some.join('')}`);
  return fc.oneof(
    value,
    long,
    cluster,
    fc.tuple(long, value).map(([name, text]) => `${name}=${text}`),
    fc.tuple(cluster, value).map(([some, text]) => `${some}${text}`),
  );
}

/** What a reader makes of a command line: values, or what is wrong with it and what to try. */
function outcome(name: string, command: Command, argv: readonly string[], read: ReadWords): unknown {
  try {
    const { args, options, globals } = parseArguments(name, command, argv, read);
    // A moment is read as a function of the clock.
    const values = Object.entries(options).map(([key, value]) => [key, typeof value === 'function' ? value(0) : value]);
    return { args, options: values, globals };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { message: error.message, hint: error.hint };
  }
}

test.each(commands)('both readers give the same answer to any command line of uwf %s', (name, command) => {
  fc.assert(
    fc.property(fc.array(wordOf(command), { maxLength: 6 }), (argv) => {
      expect(outcome(name, command, argv, readWords)).toEqual(outcome(name, command, argv, readWordsFast));
    }),
    { numRuns: RUNS },
  );
});
