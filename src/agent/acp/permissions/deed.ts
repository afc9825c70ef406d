import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';
import { orElse } from '../../../or-else.ts';
import { shellQuoted } from '../../../text/wording.ts';

/** A program that is to run. */
type CommandLine = {
  /** Program and arguments; a single word is a line that a shell reads. */
  argv: readonly string[];
  /** Where; undefined: in the working folder. */
  cwd: string | undefined;
  /** Variables that it gets beside the usual ones. */
  env: Readonly<Record<string, string>>;
};

/** A piece of a file that is replaced; without `oldText` the whole file. */
type Change = { path: string; oldText: string | undefined; newText: string };

/** What an agent wants to do: what a permission is about. */
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

/** What agents call a command in a tool's input, its folder, and a file's new text and the piece that it takes the place of. */
const COMMAND_KEYS = ['command', 'cmd', 'script', 'argv'];
const FOLDER_KEYS = ['cwd', 'workdir', 'working_directory', 'workingDirectory', 'directory'];
const NEW_KEYS = ['content', 'file_text', 'new_string', 'newString', 'new_str', 'newText', 'new_text'];
const OLD_KEYS = ['old_string', 'oldString', 'old_str', 'oldText', 'old_text'];
/** Of editors that are one tool: the word says which of their work. */
const EDITOR_WORDS = new Set(['view', 'create', 'write', 'str_replace', 'insert', 'undo_edit']);
/** Names of arguments that hold paths: `path`, `file_path`, `absolutePath`, `files`, `target-directory`. */
const PATH_NAME =
  /(?:^|[_-])(?:path|file|filepath|filename|folder|dir|directory|cwd|workdir|root)s?$|[a-z](?:Path|File|Filename|FileName|Folder|Dir|Directory|Root)s?$/u;
const MAX_PATHS = 200;
const MAX_DEPTH = 6;

/** Reads from what is known of a tool call what it would do. `kind`, `title` and the like are only what the agent says. */
export function deedOfCall(fields: JsonObject): Deed {
  const { rawInput = null } = fields;
  const input = isJsonObject(rawInput) ? rawInput : {};
  const command = commandOf(input);
  const diffs = diffsOf(fields);
  const paths = [
    ...objectsOf(fields['locations']).map(({ path }) => path),
    ...diffs.map(({ path }) => path),
    ...pathsIn(input),
  ].filter((path): path is string => typeof path === 'string' && path !== '');
  const changes = diffs.length > 0 ? diffs : changesIn(input);
  const used = [
    ...(command === undefined ? [] : [...COMMAND_KEYS, ...FOLDER_KEYS, 'args', 'env']),
    ...(changes.length > 0 ? [...NEW_KEYS, ...OLD_KEYS] : []),
  ];
  const more = Object.fromEntries(Object.entries(input).filter(([name]) => !used.includes(name)));
  const kind = textOf(fields['kind']) || 'other';
  const shown = [
    ...(command === undefined ? [] : ['execute']),
    ...(changes.length > 0 && !['delete', 'move'].includes(kind) ? ['edit'] : []),
  ];
  return {
    kinds: [...new Set([kind, ...shown])],
    paths: [...new Set(paths)].slice(0, MAX_PATHS),
    command,
    changes,
    more: isJsonObject(rawInput) || rawInput === null ? more : { input: rawInput },
    title: textOf(fields['title']) || undefined,
    words: objectsOf(fields['content'])
      .map(({ content }) => (isJsonObject(content) ? textOf(content['text']) : ''))
      .filter((text) => text !== '')
      .join('\n'),
  };
}

function commandOf(input: JsonObject): CommandLine | undefined {
  const said = firstOf(input, COMMAND_KEYS);
  const words = wordsOf(said);
  const [program] = words;
  if (program === undefined || program.trim() === '') return undefined;
  if (EDITOR_WORDS.has(program) && pathsIn(input).length > 0) return undefined;
  const env = isJsonObject(input['env']) ? input['env'] : {};
  const cwd = firstOf(input, FOLDER_KEYS);
  return {
    argv: [...words, ...wordsOf(input['args'])],
    cwd: typeof cwd === 'string' && cwd !== '' ? cwd : undefined,
    env: Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
  };
}

function wordsOf(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((word) => typeof word === 'string') : [];
}

function diffsOf({ content }: JsonObject): Change[] {
  return objectsOf(content).flatMap(({ type, path, oldText, newText }) => {
    if (type !== 'diff' || typeof path !== 'string' || typeof newText !== 'string') return [];
    return [{ path, oldText: typeof oldText === 'string' ? oldText : undefined, newText }];
  });
}

function changesIn(input: JsonObject): Change[] {
  const [path] = pathsIn(input);
  const [oldText, newText] = [firstOf(input, OLD_KEYS), firstOf(input, NEW_KEYS)];
  if (path === undefined || typeof newText !== 'string') return [];
  return [{ path, oldText: typeof oldText === 'string' ? oldText : undefined, newText }];
}

/** The values of arguments whose names say that they are paths, however deep they lie. */
function pathsIn(value: JsonValue, depth = 0): string[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item) => (isJsonObject(item) ? pathsIn(item, depth + 1) : []));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (PATH_NAME.test(name)) return wordsOf(item).filter((word) => word !== '' && !word.includes('\n'));
    if (/^ur[il]$/iu.test(name) && typeof item === 'string') return pathOfUrl(item);
    return pathsIn(item, depth + 1);
  });
}

function pathOfUrl(url: string): string[] {
  return url.toLowerCase().startsWith('file:') ? orElse(() => [fileURLToPath(url)], []) : [];
}

function firstOf(input: JsonObject, names: readonly string[]): JsonValue | undefined {
  const name = names.find((candidate) => Object.hasOwn(input, candidate));
  return name === undefined ? undefined : input[name];
}

/** The objects of a list; none where it is no list. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

/** A text without white space at its ends; '' where it is no text. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.trim() : '';
}
