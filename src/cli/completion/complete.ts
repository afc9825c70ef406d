import type { Candidates, Command, OptionSpec } from '../command.ts';
import { commandTable } from '../command-table.ts';
import { contextIn, type CliContext } from '../context.ts';
import { splitFront } from '../find-command.ts';
import { optionsOf } from '../arguments/parse-arguments.ts';
import { listCandidates, type Candidate } from './candidates.ts';

/**
 * Finds what could stand in the place of the last of some words.
 *
 * @param words what was typed after `uwf`; the last one is being typed and may be empty
 * @returns only what begins with the last word; nothing where a file's name belongs
 */
export async function complete(cli: CliContext, words: readonly string[]): Promise<Candidate[]> {
  const current = words.at(-1) ?? '';
  const typed = words.slice(0, -1);
  const folder = folderIn(typed);
  const here = folder === undefined ? cli : contextIn(cli, { folder: readAsShell(folder, cli.env['HOME']) });
  const [front, before] = splitFront(typed);
  if (front.at(-1) === '-C') return [];
  const found = await findCandidates(here, before, current);
  return found.filter(({ word }) => word.startsWith(current) || word.startsWith(current.toUpperCase()));
}

/** The folder of `-C`, before the command or behind it. */
function folderIn(words: readonly string[]): string | undefined {
  const place = words.findLastIndex((word) => word.startsWith('-C'));
  const word = words[place];
  return word === '-C' ? words[place + 1] : word?.slice(2);
}

/** A word without its quotes: shells hand words over as they were typed. */
function readAsShell(word: string, home = '~'): string {
  return word.replace(/^~(?=\/|$)/, () => home).replaceAll(/\\(.)|["']/g, '$1');
}

async function findCandidates(cli: CliContext, before: readonly string[], current: string): Promise<Candidate[]> {
  const [first, second] = before;
  if (first === undefined) return [...firstWords(), { word: 'help', about: 'what a command does' }];
  if (['help', '--help', '-h'].includes(first)) {
    return second === undefined ? firstWords() : before.length === 2 ? verbsOf(second) : [];
  }
  const ofNoun = verbsOf(first);
  if (ofNoun.length > 0 && second === undefined && !current.startsWith('-')) return ofNoun;
  const verb = ofNoun.length === 0 ? first : second?.startsWith('-') ? 'list' : (second ?? 'list');
  const entry = commandTable.find(
    (candidate) => candidate.noun === (ofNoun.length > 0 ? first : undefined) && candidate.verb === verb,
  );
  if (entry === undefined) return [];
  const { command } = await entry.load();
  const rest = before.slice(ofNoun.length > 0 && verb === second ? 2 : 1);
  return ofCommand(cli, command, rest, current);
}

function verbsOf(noun: string): Candidate[] {
  return commandTable
    .filter((entry) => entry.noun === noun)
    .map(({ verb, summary }) => ({ word: verb, about: summary }));
}

/** Nouns and commands of one word, each once. */
function firstWords(): Candidate[] {
  const words = new Map<string, string>();
  for (const { noun, verb, summary } of commandTable) {
    const word = noun ?? verb;
    if (!words.has(word)) words.set(word, noun === undefined ? summary : `commands for ${noun}s`);
  }
  return [...words].map(([word, about]) => ({ word, about }));
}

async function ofCommand(
  cli: CliContext,
  command: Command,
  rest: readonly string[],
  current: string,
): Promise<Candidate[]> {
  const specs = optionsOf(command);
  const words = rest.filter(
    (word, index) => !word.startsWith('-') && waitingOption(specs, rest[index - 1]) === undefined,
  );
  const thread =
    rest.findLast((_, index) => waitingOption(specs, rest[index - 1])?.candidates === 'thread') ??
    words[command.arguments.findIndex(({ candidates }) => candidates === 'thread')] ??
    (cli.env['UWF_THREAD'] || undefined);
  const list = (candidates: Candidates | undefined): Promise<Candidate[]> =>
    candidates === undefined ? Promise.resolve([]) : listCandidates(cli, candidates, thread);
  const waiting = waitingOption(specs, rest.at(-1));
  if (waiting !== undefined) return list(waiting.candidates);
  if (current.startsWith('-')) {
    return Object.entries(specs).map(([name, { summary }]) => ({
      word: name.length === 1 ? `-${name}` : `--${name}`,
      about: summary,
    }));
  }
  const last = command.arguments.at(-1);
  const argument = command.arguments[words.length] ?? (last?.isRepeatable ? last : undefined);
  return list(argument?.candidates);
}

/** The option whose value comes next. */
function waitingOption(specs: Readonly<Record<string, OptionSpec>>, word: string | undefined): OptionSpec | undefined {
  if (word === undefined || !word.startsWith('-') || word.includes('=')) return undefined;
  const spec = word.startsWith('--')
    ? specs[word.slice(2)]
    : Object.values(specs).find(({ short }) => short !== undefined && word === `-${short}`);
  return spec?.value === undefined || spec.isValueOptional ? undefined : spec;
}
