import { Command as Commander } from 'commander';
import { commandTable, type CommandEntry } from '../commands/command-table.ts';
import { hintAtName, UsageError } from '../errors/usage-error.ts';
import { commonOptions, type CommonValues } from './read-words.ts';

/** What the words of a command line come to. */
type CommandTarget =
  | { kind: 'command'; entry: CommandEntry; argv: string[]; front: CommonValues }
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
  const { words: typed, front, isHelp: asksFirst, isVersion } = splitFront(argv);
  if (isVersion) return { kind: 'version' };
  const isHelp = asksFirst || typed[0] === 'help';
  const words = typed[0] === 'help' ? typed.slice(1) : typed;
  const [first, second] = words;
  if (first === undefined) return { kind: 'help', noun: undefined };
  const command = (entry: CommandEntry, rest: readonly string[]): CommandTarget => ({
    kind: 'command',
    entry,
    argv: isHelp ? [...rest, '--help'] : [...rest],
    front,
  });

  const single = commandTable.find((entry) => entry.noun === undefined && entry.verb === first);
  if (single) return command(single, words.slice(1));
  const ofNoun = commandTable.filter((entry) => entry.noun === first);
  if (ofNoun.length === 0) throw unknownCommand(first);
  const isAlone = second === undefined || second.startsWith('-');
  if (second === '--help' || second === '-h' || (isHelp && isAlone)) return { kind: 'help', noun: first };
  const verb = isAlone ? 'list' : second;
  const entry = ofNoun.find((candidate) => candidate.verb === verb);
  if (entry === undefined) throw unknownVerb(first, verb, ofNoun);
  return command(entry, words.slice(isAlone ? 1 : 2));
}

/** Reads the options in front of the command's name. */
export function splitFront(argv: readonly string[]): {
  front: CommonValues;
  words: string[];
  isHelp: boolean;
  isVersion: boolean;
} {
  const uwf = new Commander('uwf').passThroughOptions();
  // All that can be wrong here.
  uwf.configureOutput({ outputError: () => {} }).exitOverride(() => {
    throw new UsageError('-C needs a value: <folder>');
  });
  for (const option of commonOptions()) uwf.addOption(option);
  const { operands, unknown } = uwf
    .option('-h, --help')
    .option('-V, --version')
    .parseOptions([...argv]);
  const { help, version, ...front } = uwf.opts<CommonValues & { help?: true; version?: true }>();
  return { front, words: [...operands, ...unknown], isHelp: help === true, isVersion: version === true };
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
