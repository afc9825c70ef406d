import { nearestName } from '../nearest-name.ts';
import type { CommandEntry } from './command-entry.ts';
import { commandTable, nameOf } from './command-table.ts';
import { UsageError } from './usage-error.ts';

/** What the words of a command line come to. */
export type Target =
  | { kind: 'command'; entry: CommandEntry; name: string; argv: string[] }
  /** Help for everything, or for a noun. */
  | { kind: 'help'; noun: string | undefined }
  | { kind: 'version' };

/**
 * Finds the command that a command line means.
 *
 * `-C <folder>` and `--no-pager` may stand in front, as with git. A noun alone lists. `uwf help <command>` is
 * `uwf <command> --help`.
 * @throws {UsageError} for a command that does not exist, with the nearest one that does
 */
export function findCommand(argv: readonly string[]): Target {
  const [front, words] = splitFront(argv);
  const [first, second] = words;
  const isHelp = first === '--help' || first === '-h';
  if (first === undefined || (isHelp && second === undefined)) return { kind: 'help', noun: undefined };
  if (first === '--version' || first === '-V') return { kind: 'version' };
  if (first === 'help' || isHelp) {
    return second === undefined ? { kind: 'help', noun: undefined } : findCommand([...words.slice(1), '--help']);
  }

  const single = commandTable.find((entry) => entry.noun === undefined && entry.verb === first);
  if (single) return { kind: 'command', entry: single, name: first, argv: [...front, ...words.slice(1)] };

  const ofNoun = commandTable.filter((entry) => entry.noun === first);
  if (ofNoun.length === 0) throw unknownCommand(first);
  if (second === '--help' || second === '-h') return { kind: 'help', noun: first };
  const isListing = second === undefined || second.startsWith('-');
  const verb = isListing ? 'list' : second;
  const entry = ofNoun.find((candidate) => candidate.verb === verb);
  if (entry === undefined) throw unknownVerb(first, verb, ofNoun);
  return { kind: 'command', entry, name: nameOf(entry), argv: [...front, ...words.slice(isListing ? 1 : 2)] };
}

/** Splits off the options in front of the command's name; the command's own parser reads them. */
export function splitFront(argv: readonly string[]): [front: string[], words: string[]] {
  let place = 0;
  while (place < argv.length) {
    const word = argv[place] ?? '';
    if (word === '-C') place += 2;
    else if (word === '--no-pager' || /^-C./.test(word)) place += 1;
    else break;
  }
  return [argv.slice(0, place), argv.slice(place)];
}

function unknownCommand(word: string): UsageError {
  if (word.startsWith('-')) return new UsageError(`uwf has no option ${word}`, "run 'uwf --help' to see what there is");
  const firsts = new Set(commandTable.map((entry) => entry.noun ?? entry.verb));
  // `uwf start` and `uwf resume` are what somebody types who thinks of threads only.
  const asVerb = commandTable.find((entry) => entry.verb === word);
  const near = asVerb ? nameOf(asVerb) : nearestName(word, firsts);
  return new UsageError(
    `'${word}' is not a command of uwf`,
    near === undefined ? "run 'uwf --help' to see all commands" : `did you mean 'uwf ${near}'?`,
  );
}

function unknownVerb(noun: string, verb: string, entries: readonly CommandEntry[]): UsageError {
  const verbs = entries.map((entry) => entry.verb);
  const near = nearestName(verb, verbs);
  const hasShow = verbs.includes('show');
  return new UsageError(
    `'uwf ${noun}' has no command '${verb}'`,
    near === undefined
      ? `it has ${verbs.join(', ')}${hasShow ? `; 'uwf ${noun} show ${verb}' shows one` : ''}`
      : `did you mean 'uwf ${noun} ${near}'?`,
  );
}
