import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertParses, commandsIn, commandsOfHints, wordsOf } from '../helpers/hints.ts';

const src = join(import.meta.dirname, '../../src');

/** Every command that a text in the source names in quotes, with its file; comments are left out. */
function namedInSource(): { file: string; command: string }[] {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/u.test(file));
  return files.flatMap((file) => {
    const code = readFileSync(join(src, file), 'utf8').replaceAll(/^\s*(?:\/\*\*.*|\*.*|\/\/.*)$/gmu, '');
    return commandsIn(code).map((command) => ({ file, command }));
  });
}

/** Quoted sentences and names that begin like a command. */
const prose = ['uwf tools', 'uwf has no use', 'uwf writes it otherwise', 'uwf runs workflows'];

test('every command that a text of uwf names exists, and takes what is given to it', async () => {
  const named = namedInSource();
  expect(named.length).toBeGreaterThan(150);
  const wrong: string[] = [];
  for (const { file, command } of named) {
    const filled = command
      .replace('${where}', '')
      .replace('--${counted[name].option}', '--steps')
      .replaceAll(/\$\{[^}]*\}?/gu, '1');
    const words = wordsOf(filled.replace(/ [|>&].*$| \$\(.*$/u, ''));
    // What is not known before it is printed is held to the same when a test prints it.
    if (
      words[0] === '1' ||
      words[1] === '1' ||
      words[0]?.startsWith('<') ||
      prose.some((text) => command.startsWith(text))
    )
      continue;
    try {
      await assertParses(words);
    } catch (error) {
      // Prose may speak of a command without what it is given; a hint may not, to which each printed one is held.
      if (!/ needs an? /u.test(String(error))) wrong.push(`${file}: '${command}': ${String(error)}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('hints are found among what a command prints', () => {
  const stderr = "a note with 'uwf no hint'\n\u001B[1mhint:\u001B[0m 'uwf thread show A'; or 'uwf log B'\n";
  expect(commandsOfHints(stderr)).toEqual(['uwf thread show A', 'uwf log B']);
  expect(commandsOfHints(`{"error":{"hint":"run 'uwf doctor'","code":"x"}}`)).toEqual(['uwf doctor']);
});
