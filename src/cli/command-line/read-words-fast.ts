import { lengthOfName, longOption, takesWord, type GivenOption, type ReadWords } from './words.ts';

/**
 * The commands that read their words without Commander: to load it takes as long as half of Node's own start, and people and
 * scripts wait for these.
 */
export const fastCommands: ReadonlySet<string> = new Set([
  'log',
  'run',
  'cas get',
  'cas put',
  'thread context',
  'thread fork',
  'thread list',
  'thread read',
  'thread show',
  'thread start',
  'thread step',
  'workflow list',
  'workflow validate',
]);

/** Reads words without Commander. */
export const readWordsFast: ReadWords = (specs, argv) => {
  const options: GivenOption[] = [];
  const positionals: string[] = [];
  for (let place = 0; place < argv.length; place += 1) {
    const word = argv[place] ?? '';
    if (word === '--') {
      positionals.push(...argv.slice(place + 1));
      break;
    }
    if (word === '-' || !word.startsWith('-')) {
      positionals.push(word);
    } else if (word.startsWith('--')) {
      const end = lengthOfName(word);
      const name = word.slice(2, end);
      const spec = longOption(specs, name);
      if (spec === undefined) return { unknown: word.slice(0, end) };
      const isInline = end < word.length;
      const value = isInline ? word.slice(end + 1) : takesWord(spec) ? argv[(place += 1)] : undefined;
      options.push({ name, spec, value, isInline });
    } else {
      for (let at = 1; at < word.length; at += 1) {
        const letter = word.charAt(at);
        const [name, spec] = Object.entries(specs).find(([, { short }]) => short === letter) ?? [];
        if (name === undefined || spec === undefined) return { unknown: `-${letter}` };
        const rest = takesWord(spec) ? word.slice(at + 1) : undefined;
        options.push({ name, spec, value: rest === '' ? argv[(place += 1)] : rest, isInline: Boolean(rest) });
        if (rest !== undefined) break;
      }
    }
  }
  return { options, positionals };
};
