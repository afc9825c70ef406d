import { nearestName } from '../../nearest-name.ts';
import { withArticle } from '../../with-article.ts';
import type { Command, OptionSpec } from './command.ts';
import { hintAtName, UsageError } from '../errors/usage-error.ts';
import { longOption, type GivenOption, type OptionSpecs, type ReadWords } from './words.ts';

/** The command line of one command, read by its declaration. */
type ParsedArguments = {
  args: Record<string, string | readonly string[] | undefined>;
  options: Record<string, unknown>;
  globals: GlobalOptions;
};

/** What every command understands. */
type GlobalOptions = {
  isHelp: boolean;
  /** `-C`; the last one wins. */
  folder: string | undefined;
  mayPage: boolean;
  /** `--json`: every field, or those that are named; `undefined` where no JSON is asked for. */
  json: true | readonly string[] | undefined;
  /** `--query`, which asks for JSON too. */
  query: string | undefined;
};

/** The options that every command has, for the parser, the help and completion. */
export const globalOptions: OptionSpecs = {
  C: { short: 'C', value: '<folder>', summary: 'work in this folder instead of the current one', candidates: 'folder' },
  'no-pager': { summary: 'do not show long output page by page' },
  help: { short: 'h', summary: 'show this help' },
};

/** The options of commands that print data. */
export const jsonOptions: OptionSpecs = {
  json: { value: '<fields>', isValueOptional: true, summary: 'print JSON; with =<a>,<b> only these fields' },
  query: { value: '<jsonata>', summary: 'print what this expression makes of the JSON' },
};

/** All options of a command, its own and the common ones. */
export function optionsOf(command: Pick<Command, 'options' | 'json'>): OptionSpecs {
  return { ...command.options, ...(command.json && jsonOptions), ...globalOptions };
}

/**
 * Reads the arguments of a command.
 *
 * Options may stand anywhere before `--`; `--json=a,b` takes its fields after an equals sign only, so that `--json` never
 * swallows an argument.
 * @param name what the person typed to name the command, for messages
 * @param read takes the words apart
 * @throws {UsageError} for anything that is not declared, said with the nearest name that is
 */
export function parseArguments(
  name: string,
  command: Command,
  argv: readonly string[],
  read: ReadWords,
): ParsedArguments {
  const specs = optionsOf(command);
  const words = read(specs, argv);
  if ('unknown' in words) throw unknownOption(name, words.unknown, specs);
  const given = new Map<string, string[]>();
  for (const option of words.options) {
    given.set(option.name, [...(given.get(option.name) ?? []), valueOf(option, specs)]);
  }
  const isHelp = given.has('help');
  return {
    globals: {
      isHelp,
      folder: given.get('C')?.at(-1),
      mayPage: !given.has('no-pager'),
      json: jsonFields(given.get('json'), given.has('query'), command),
      query: given.get('query')?.at(-1),
    },
    args: isHelp ? {} : namedArguments(name, command, words),
    options: optionValues(command, given),
  };
}

function valueOf({ name, spec, value, isInline }: GivenOption, specs: OptionSpecs): string {
  const typed = name.length === 1 ? `-${name}` : `--${name}`;
  if (spec.value === undefined) {
    if (value !== undefined) throw new UsageError(`${typed} takes no value`);
    return '';
  }
  if (spec.isValueOptional) return value ?? '';
  // An option in the place of a value is a value that was forgotten; one that really begins so can follow '='.
  const isOption = !isInline && value?.startsWith('--') === true && longOption(specs, value.slice(2)) !== undefined;
  if (value === undefined || isOption) throw new UsageError(`${typed} needs a value: ${spec.value}`);
  return value;
}

function unknownOption(name: string, rawName: string, specs: OptionSpecs): UsageError {
  const known = rawName.startsWith('--') ? Object.keys(specs).filter((one) => one.length > 1) : [];
  const help = `run 'uwf ${name} --help' to see its options`;
  const hint = hintAtName(rawName.slice(2), known, help, (near) => `--${near}`);
  return new UsageError(`'uwf ${name}' has no option ${rawName}`, hint);
}

function namedArguments(
  name: string,
  command: Command,
  { options, positionals }: { options: readonly GivenOption[]; positionals: readonly string[] },
): ParsedArguments['args'] {
  const specs = command.arguments;
  const missing = specs.find((spec, place) => !spec.isOptional && positionals[place] === undefined);
  const help = `run 'uwf ${name} --help' to see how it is used`;
  if (missing !== undefined)
    throw new UsageError(`'uwf ${name}' needs ${withArticle(missing.name)}: ${missing.summary}`, help);
  const extra = specs.at(-1)?.isRepeatable ? undefined : positionals[specs.length];
  if (extra !== undefined) {
    const quoted = /\s/.test(positionals.join('')) ? help : `${help}; a text of several words needs quotes`;
    // A word may be one too many because it was meant as the value of an option whose value can be left out.
    const bare = options.findLast(({ spec, value }) => value === undefined && spec.isValueOptional);
    const hint = bare === undefined ? quoted : `did you mean --${bare.name}=${positionals.at(-1)}?`;
    throw new UsageError(`'uwf ${name}' does not know what to do with '${extra}'`, hint);
  }
  return Object.fromEntries(
    specs.map((spec, place) => [spec.name, spec.isRepeatable ? positionals.slice(place) : positionals[place]]),
  );
}

function optionValues(command: Command, given: ReadonlyMap<string, readonly string[]>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(command.options)) {
    const texts = given.get(name);
    const read = (text: string): unknown => parseValue(name, spec, text);
    if (spec.value === undefined) values[name] = texts !== undefined;
    else if (spec.isRepeatable) values[name] = (texts ?? []).flatMap((text) => text.split(',')).map(read);
    else if (texts === undefined) values[name] = undefined;
    else values[name] = spec.isValueOptional && texts.at(-1) === '' ? true : read(texts.at(-1) ?? '');
  }
  return values;
}

function parseValue(name: string, spec: OptionSpec, text: string): unknown {
  if (Array.isArray(spec.candidates) && !spec.candidates.includes(text)) {
    const choices: readonly string[] = spec.candidates;
    const near = nearestName(text, choices);
    const hint = near === undefined ? '' : `did you mean '${near}'? `;
    throw new UsageError(`--${name} cannot be '${text}'`, `${hint}it is one of ${choices.join(', ')}`);
  }
  if (spec.parse === undefined) return text;
  try {
    return spec.parse(text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`--${name} ${error.message}`, error.hint);
    throw error;
  }
}

function jsonFields(
  given: readonly string[] | undefined,
  hasQuery: boolean,
  command: Command,
): true | readonly string[] | undefined {
  if (given === undefined) return hasQuery ? true : undefined;
  const names = given.flatMap((text) => text.split(',')).filter((field) => field !== '');
  if (names.length === 0) return true;
  const known = Object.keys(command.json ?? {});
  const unknown = names.find((field) => !known.includes(field));
  if (unknown !== undefined) {
    throw new UsageError(`--json has no field '${unknown}' here`, `the fields are ${known.join(', ')}`);
  }
  return names;
}
