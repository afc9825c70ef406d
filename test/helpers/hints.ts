import { findCommand, readWords, toCommander } from '../../src/cli/command-line/read-words.ts';

/** The commands of uwf that a text names in quotes, as a user would type them. */
export function commandsIn(text: string): string[] {
  return [...text.matchAll(/'(uwf (?:[^'\n])*)'/gu)].map(([, command = '']) => command);
}

/** The commands in the hints on stderr, also those of errors in JSON. */
export function commandsOfHints(stderr: string): string[] {
  // eslint-disable-next-line no-control-regex -- hints are coloured on a terminal
  const plain = stderr.replaceAll(/\u001B\[[\d;]*m/gu, '');
  return commandsIn(plain.match(/^hint: .*$|"hint":"(?:[^"\\]|\\.)*"/gmu)?.join('\n') ?? '');
}

/** The words of a command after `uwf`; a `<placeholder>` and a quoted text are one word. */
export function wordsOf(command: string): string[] {
  return (command.match(/<[^>]*>|"[^"]*"|\S+/gu) ?? []).slice(1);
}

/** @throws {UsageError} if there is no such command, or it does not take these words */
export async function assertParses(words: readonly string[]): Promise<void> {
  const target = findCommand(words);
  if (target.kind !== 'command') return;
  const { entry, argv } = target;
  const cli = { stdout: { write: () => true }, env: {} };
  readWords(entry.name, toCommander(cli, entry, await entry.load(), argv), argv);
}

/** Returns whether a command only reads a thread or a step by its whole name, so that it can run anywhere. */
export function isHarmless([noun, verb = '', ...more]: readonly string[]): boolean {
  const words = [verb, ...more];
  if (words.some((word) => word.includes('<'))) return false;
  if (noun === 'log') return words.some((word) => /^[0-9A-Z]{26}$/u.test(word));
  if (noun === 'thread') return ['show', 'read', 'context'].includes(verb);
  if (noun === 'step') return ['list', 'show', 'read', 'turns'].includes(verb) && more.length > 0;
  return noun === 'workflow' && verb === 'list';
}
