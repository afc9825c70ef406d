import { commandTable, type CommandEntry } from '../commands/command-table.ts';
import { hintAtName, UsageError } from '../errors/usage-error.ts';

/** What the words of a command line come to. */
type CommandTarget =
  | { kind: 'command'; entry: CommandEntry; argv: string[] }
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
export function findCommand(argv: readonly string[]): CommandTarget {
  const [front, words] = splitFront(argv);
  const [first, second] = words;
  const isHelp = first === '--help' || first === '-h';
  if (first === undefined || (isHelp && second === undefined)) return { kind: 'help', noun: undefined };
  if (first === '--version' || first === '-V') return { kind: 'version' };
  if (first === 'help' || isHelp) {
    return second === undefined ? { kind: 'help', noun: undefined } : findCommand([...words.slice(1), '--help']);
  }

  const single = commandTable.find((entry) => entry.noun === undefined && entry.verb === first);
  if (single) return { kind: 'command', entry: single, argv: [...front, ...words.slice(1)] };

  const ofNoun = commandTable.filter((entry) => entry.noun === first);
  if (ofNoun.length === 0) throw unknownCommand(first);
  if (second === '--help' || second === '-h') return { kind: 'help', noun: first };
  const isListing = second === undefined || second.startsWith('-');
  const verb = isListing ? 'list' : second;
  const entry = ofNoun.find((candidate) => candidate.verb === verb);
  if (entry === undefined) throw unknownVerb(first, verb, ofNoun);
  return { kind: 'command', entry, argv: [...front, ...words.slice(isListing ? 1 : 2)] };
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
  const firsts = commandTable.map((entry) => entry.noun ?? entry.verb);
  // A person who thinks of threads only types `uwf start` or `uwf resume`.
  const asVerb = commandTable.find((entry) => entry.verb === word);
  const write = (near: string): string => `'uwf ${asVerb?.name ?? near}'`;
  const hint = hintAtName(word, asVerb ? [word] : firsts, "run 'uwf --help' to see all commands", write);
  return new UsageError(`'${word}' is not a command of uwf`, hint);
}

function unknownVerb(noun: string, verb: string, entries: readonly CommandEntry[]): UsageError {
  const verbs = entries.map((entry) => entry.verb);
  const show = verbs.includes('show') ? `; 'uwf ${noun} show ${verb}' shows one` : '';
  const hint = hintAtName(verb, verbs, `it has ${verbs.join(', ')}${show}`, (near) => `'uwf ${noun} ${near}'`);
  return new UsageError(`'uwf ${noun}' has no command '${verb}'`, hint);
}
