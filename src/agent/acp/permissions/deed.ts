import { createHash } from 'node:crypto';
import { resolve } from 'node:path';

import type { JsonObject, JsonValue } from '../../../json.ts';
import { shellQuoted } from '../../../shell-quoted.ts';

/** A program that is to run. */
export type CommandLine = {
  /** Program and arguments; a single word is a line that a shell reads. */
  argv: readonly string[];
  /** Where; undefined: in the working folder. */
  cwd: string | undefined;
  /** Variables that it gets beside the usual ones. */
  env: Readonly<Record<string, string>>;
};

/** A piece of a file that is replaced; without `oldText` the whole file. */
export type Change = { path: string; oldText: string | undefined; newText: string };

/** What an agent wants to do, or have uwf do: what a permission is about. */
export type Deed = {
  /** The kinds of the protocol: what the agent calls it, and what its arguments show it to be. */
  kinds: readonly string[];
  /** Every file and folder that it names. */
  paths: readonly string[];
  command: CommandLine | undefined;
  changes: readonly Change[];
  /** All other arguments. */
  more: JsonObject;
  /** What the agent calls it, and says of it. Its own words: they are shown, and decide nothing. */
  title: string | undefined;
  words: string;
};

/** The parts of a deed that are not always there. */
const NOTHING = { command: undefined, changes: [], more: {}, title: undefined, words: '' } as const;

export function deedOfReading(path: string): Deed {
  return { ...NOTHING, kinds: ['read'], paths: [path] };
}

export function deedOfWriting(path: string, newText: string): Deed {
  return { ...NOTHING, kinds: ['edit'], paths: [path], changes: [{ path, oldText: undefined, newText }] };
}

export function deedOfRunning(command: CommandLine): Deed {
  return { ...NOTHING, kinds: ['execute'], paths: command.cwd === undefined ? [] : [command.cwd], command };
}

/** Where an agent works, and where paths lead. */
type Folder = { path: string; resolve(path: string): Promise<string> };

/** The same deed with its paths as they lead, links followed. A command's folder that is the usual one is left out. */
export async function resolveDeed(deed: Deed, folder: Folder): Promise<Deed> {
  const { paths, command, changes } = deed;
  // A path that cannot be looked at (a loop of links, a name too long) is judged by its name.
  const resolvePath = (path: string): Promise<string> => folder.resolve(path).catch(() => resolve(folder.path, path));
  const cwd = command?.cwd === undefined ? folder.path : await resolvePath(command.cwd);
  const real = new Set(await Promise.all(paths.map((path) => resolvePath(path))));
  if (command !== undefined && cwd === folder.path) real.delete(cwd);
  return {
    ...deed,
    paths: [...real],
    command: command && { ...command, cwd: cwd === folder.path ? undefined : cwd },
    changes: await Promise.all(changes.map(async (change) => ({ ...change, path: await resolvePath(change.path) }))),
  };
}

/**
 * Hashes what a deed does, and not what the agent says of it: a person's answer holds for all deeds with this hash. Arguments
 * that only describe a command or a change are left out, and the title counts only where there is nothing else.
 */
export function fingerprintOf({ kinds, paths, command, changes, more, title }: Deed): string {
  const isPlain = command === undefined && changes.length === 0;
  const says = isPlain && paths.length === 0 && Object.keys(more).length === 0 ? title : undefined;
  const shell = command && { line: shellLineOf(command), cwd: command.cwd, env: sorted(command.env) };
  const parts = [kinds.toSorted(), paths.toSorted(), shell, changes, isPlain ? sorted(more) : {}, says ?? ''];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/**
 * Tells whether a permission for one deed is one for another as well: it is the same, or the part of it that uwf is asked
 * to do.
 * @param granted what a person was shown
 * @param wanted what is to be done now, by uwf
 * @param currentText of the file that is to be written, where there is one
 */
export function coversDeed(granted: Deed, wanted: Deed, currentText: string | undefined): boolean {
  if (!wanted.kinds.every((kind) => granted.kinds.includes(kind))) return false;
  if (wanted.command !== undefined) return isSameCommand(granted.command, wanted.command);
  if (!wanted.paths.every((path) => granted.paths.includes(path))) return false;
  return wanted.changes.every(({ path, newText }) => {
    const shown = granted.changes.filter((change) => change.path === path);
    return shown.length > 0 && textAfter(shown, currentText ?? '') === newText;
  });
}

/** A file's text after changes to it; undefined where they do not fit. */
function textAfter(changes: readonly Change[], text: string): string | undefined {
  let result = text;
  for (const { oldText, newText } of changes) {
    if (oldText === undefined || oldText === result) result = newText;
    else {
      const pieces = result.split(oldText);
      if (oldText === '' || pieces.length !== 2) return undefined;
      result = pieces.join(newText);
    }
  }
  return result;
}

function isSameCommand(granted: CommandLine | undefined, wanted: CommandLine): boolean {
  if (granted === undefined || granted.cwd !== wanted.cwd) return false;
  if (JSON.stringify(sorted(granted.env)) !== JSON.stringify(sorted(wanted.env))) return false;
  return shellLineOf(granted) === shellLineOf(wanted);
}

/** The line that a shell would read, so that `npm test` is the same in all forms in which agents have it run. */
export function shellLineOf({ argv }: Pick<CommandLine, 'argv'>): string {
  const [program = '', option = '', line] = argv;
  if (argv.length === 1) return program;
  const isShell = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z)?sh$/u.test(program) && /^-l?c$/u.test(option);
  if (isShell && line !== undefined && argv.length === 3) return line;
  return argv.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : shellQuoted(word))).join(' ');
}

function sorted(value: Readonly<Record<string, JsonValue>>): [string, JsonValue][] {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
