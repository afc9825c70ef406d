import type { Candidates, Command, OptionSpec } from '../command.ts';
import { commandTable } from '../command-table.ts';
import type { CliContext } from '../context.ts';
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
  const found = await findCandidates(cli, words.slice(0, -1), current);
  return found.filter(({ word }) => word.startsWith(current) || word.startsWith(current.toUpperCase()));
}

async function findCandidates(cli: CliContext, before: readonly string[], current: string): Promise<Candidate[]> {
  const [first, second] = before;
  if (first === undefined) return firstWords();
  const ofNoun = commandTable.filter((entry) => entry.noun === first);
  if (ofNoun.length > 0 && second === undefined && !current.startsWith('-')) {
    return ofNoun.map((entry) => ({ word: entry.verb, about: entry.summary }));
  }
  const verb = ofNoun.length === 0 ? first : second?.startsWith('-') ? 'list' : (second ?? 'list');
  const entry = commandTable.find(
    (candidate) => candidate.noun === (ofNoun.length > 0 ? first : undefined) && candidate.verb === verb,
  );
  if (entry === undefined) return [];
  const { command } = await entry.load();
  const rest = before.slice(ofNoun.length > 0 && verb === second ? 2 : 1);
  return ofCommand(cli, command, rest, current);
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
  const waiting = waitingOption(specs, rest.at(-1));
  if (waiting !== undefined) return waiting.candidates === undefined ? [] : listCandidates(cli, waiting.candidates);
  if (current.startsWith('-')) {
    return Object.entries(specs).map(([name, { summary }]) => ({
      word: name.length === 1 ? `-${name}` : `--${name}`,
      about: summary,
    }));
  }
  const place = rest.filter(
    (word, index) => !word.startsWith('-') && waitingOption(specs, rest[index - 1]) === undefined,
  ).length;
  const last = command.arguments.at(-1);
  const argument = command.arguments[place] ?? (last?.isRepeatable ? last : undefined);
  const candidates: Candidates | undefined = argument?.candidates;
  return candidates === undefined ? [] : listCandidates(cli, candidates);
}

/** The option whose value comes next. */
function waitingOption(specs: Readonly<Record<string, OptionSpec>>, word: string | undefined): OptionSpec | undefined {
  if (word === undefined || !word.startsWith('-') || word.includes('=')) return undefined;
  const spec = word.startsWith('--')
    ? specs[word.slice(2)]
    : Object.values(specs).find(({ short }) => short !== undefined && word === `-${short}`);
  return spec?.value === undefined || spec.isValueOptional ? undefined : spec;
}
