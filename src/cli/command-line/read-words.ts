import { Command, Option } from 'commander';
import { lengthOfName, longOption, takesWord, type GivenOption, type OptionSpecs, type ReadWords } from './words.ts';

/**
 * Stands in front of a value that was in one word with its option, since Commander does not tell. No word of a command
 * line has this character.
 */
const MARK = '\0';

/** A last word for an option whose value is missing. */
const END = `${MARK}${MARK}`;

/** Reads words with Commander. */
export const readWords: ReadWords = (specs, argv) => {
  // With a subcommand, Commander takes `-5` for an option and not for an argument.
  const command = new Command().addCommand(new Command(END));
  const options: GivenOption[] = [];
  for (const [name, spec] of Object.entries(specs)) {
    const hasValue = takesWord(spec);
    const add = (flags: string, event: string): void => {
      command.addOption(new Option(flags));
      command.on(`option:${event}`, (text?: string) => {
        const isMissing = text === undefined || text === (hasValue ? END : '');
        options.push({ name, spec, value: isMissing ? undefined : unmark(text), isInline: text?.[0] === MARK });
      });
    };
    // An option of one letter has no long form. To Commander every long option has a value; see `mark`.
    if (name.length > 1) add(`--${name} <value>`, name);
    if (spec.short !== undefined) add(`-${spec.short}${hasValue ? ' <value>' : ''}`, spec.short);
  }
  const { operands, unknown } = command.parseOptions([...argv.map((word) => mark(word, specs)), END]);
  const [first] = unknown;
  if (first === undefined) return { options, positionals: operands.filter((word) => word !== END).map(unmark) };
  const word = unmark(first);
  return { unknown: first.startsWith('--') ? word.slice(0, lengthOfName(word)) : word.slice(0, 2) };
};

/** Writes a word for Commander. An option without a value gets an empty one, so that it takes no word for it. */
function mark(word: string, specs: OptionSpecs): string {
  if (!word.startsWith('-')) return word;
  if (!word.startsWith('--')) return word.slice(0, 2) + word.slice(2).replaceAll('-', `${MARK}-`);
  const end = lengthOfName(word);
  if (end < word.length) return `${word.slice(0, end)}=${MARK}${word.slice(end + 1)}`;
  const spec = longOption(specs, word.slice(2));
  return spec === undefined || takesWord(spec) ? word : `${word}=`;
}

/** The word that was marked. */
function unmark(word: string): string {
  return word.replace(/^(--[^=]+)=$/s, '$1').replaceAll(MARK, '');
}
