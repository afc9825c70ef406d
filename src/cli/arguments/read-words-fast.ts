import type { OptionSpec } from '../command.ts';
import type { GivenOption, ReadWords } from './words.ts';

/**
 * Reads words by itself, for the commands that have to start at once: loading commander takes longer than they do, and
 * what Node brings along for it still a twentieth of that.
 */
export const readWordsFast: ReadWords = (specs, argv) => {
  const options: GivenOption[] = [];
  const positionals: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      positionals.push(...rest);
      break;
    }
    if (word === '-' || !word.startsWith('-')) {
      positionals.push(word);
      continue;
    }
    const { name, typed, value, others } = word.startsWith('--') ? readLong(word) : readShort(specs, word);
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    if (spec === undefined) return { unknown: typed };
    if (others !== undefined) rest.unshift(others);
    const isInline = value !== undefined;
    options.push({ name, value: isInline || !takesWord(spec) ? value : rest.shift(), isInline });
  }
  return { options, positionals };
};

/** An option as it stands in a word: `others` are switches behind it in the same word. */
type Option = { name: string; typed: string; value?: string; others?: string };

function readLong(word: string): Option {
  // A name has a character at least.
  const end = word.indexOf('=', 3);
  if (end === -1) return { name: word.slice(2), typed: word };
  return { name: word.slice(2, end), typed: word.slice(0, end), value: word.slice(end + 1) };
}

function readShort(specs: Readonly<Record<string, OptionSpec>>, word: string): Option {
  const letter = word.charAt(1);
  const [name, spec] = Object.entries(specs).find(([, { short }]) => short === letter) ?? [letter, undefined];
  const option = { name, typed: `-${letter}` };
  if (word.length === 2) return option;
  return spec !== undefined && takesWord(spec)
    ? { ...option, value: word.slice(2) }
    : { ...option, others: `-${word.slice(2)}` };
}

/** Whether the next word is its value; a value that can be left out never is. */
function takesWord({ value, isValueOptional }: OptionSpec): boolean {
  return value !== undefined && !isValueOptional;
}
