import { parseArgs } from 'node:util';
import type { OptionSpec } from '../command.ts';
import type { GivenOption, ReadWords } from './words.ts';

/** Reads words with what Node brings along, for the commands that have to start at once: loading commander takes longer than they do. */
export const readWordsFast: ReadWords = (specs, argv) => {
  const { tokens } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, describe(spec)])),
  });
  const options: GivenOption[] = [];
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    if (!Object.hasOwn(specs, token.name)) return { unknown: token.rawName };
    options.push({ name: token.name, value: token.value, isInline: token.inlineValue === true });
  }
  return { options, positionals };
};

function describe({ value, isValueOptional, short }: OptionSpec): { type: 'boolean' | 'string'; short?: string } {
  // As a switch it still takes what follows an equals sign, and never the next word.
  const type = value === undefined || isValueOptional ? 'boolean' : 'string';
  return { type, ...(short !== undefined && { short }) };
}
