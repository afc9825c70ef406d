import { createHash } from 'node:crypto';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWithin } from '../../git/system/files.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { orElse } from '../../or-else.ts';
import { shellQuoted } from '../../text/wording.ts';
import { cutText } from '../processes/start-program.ts';

/** What a tool's result may have in characters before it is cut. */
const MAX_RESULT_CHARACTERS = 1024 * 1024;
const MAX_NAME_CHARACTERS = 64;
/** Where a tool call stands (`ToolCallStatus`). */
type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

/** A tool call as it is known so far: agents tell of it piece by piece, each field anew where it has changed. */
export class ToolCall {
  readonly id: string;
  readonly startedAtMs: number = performance.now();
  #fields: JsonObject = {};
  readonly #titles = new Set<string>();

  constructor(id: string) {
    this.id = id;
  }

  /** Takes in a `ToolCall` or `ToolCallUpdate`; a field that is absent or null says nothing new. */
  update(fields: JsonObject): void {
    const news = Object.entries(fields).filter(([, value]) => value !== null);
    this.#fields = { ...this.#fields, ...Object.fromEntries(news) };
    if (this.#text('title') !== '') this.#titles.add(this.#text('title'));
  }

  get status(): ToolStatus {
    const status = this.#fields['status'];
    return status === 'in_progress' || status === 'completed' || status === 'failed' ? status : 'pending';
  }

  get isOver(): boolean {
    return this.status === 'completed' || this.status === 'failed';
  }

  get title(): string {
    return this.#text('title') || this.name;
  }

  /** All titles that it has borne: Copilot tells of `uwf-thread_list`, and asks for `thread_list`. */
  get titles(): readonly string[] {
    return [...this.#titles];
  }

  /** `other` where the agent does not say. */
  get kind(): string {
    return this.#text('kind') || 'other';
  }

  /** The tool's own name where the agent tells it, else what comes nearest: a title of one word, or the kind. */
  get name(): string {
    // Qwen Code has it in `_meta` itself, Claude's bridge one deeper.
    const meta = isJsonObject(this.#fields['_meta']) ? this.#fields['_meta'] : {};
    const said = isJsonObject(meta['claudeCode']) ? meta['claudeCode']['toolName'] : meta['toolName'];
    const names = [this.#text('name'), typeof said === 'string' ? said : '', this.#text('title')];
    const name = names.find((text) => /^[\w.:/-]+$/u.test(text) && text.length <= MAX_NAME_CHARACTERS);
    return name ?? this.kind;
  }

  /** What the tool is called with; where the agent does not tell, what it says about the call. */
  get arguments(): JsonValue {
    if (this.hasInput) return this.#fields['rawInput'] ?? null;
    const { paths } = this.deed;
    return { title: this.title, ...(paths.length > 0 && { paths: [...paths] }) };
  }

  get hasInput(): boolean {
    const input = this.#fields['rawInput'];
    return isJsonObject(input) ? Object.keys(input).length > 0 : input !== undefined && input !== '';
  }

  /** All that the agent has said of it. */
  get fields(): Readonly<JsonObject> {
    return this.#fields;
  }

  /** What it would do, as far as is known now. */
  get deed(): Deed {
    const { name, title, kind } = this;
    return deedOfCall(
      name === kind || title.includes(name) ? this.#fields : { ...this.#fields, title: `${name}: ${title}` },
    );
  }

  /** What it came to, as far as the agent says. */
  result(): string {
    const parts = objectsOf(this.#fields['content']).map(textOfContent);
    const text = parts.filter((part) => part !== '').join('\n');
    const { rawOutput } = this.#fields;
    const said = text || (typeof rawOutput === 'string' ? rawOutput : outputOf(rawOutput));
    if (said.length <= MAX_RESULT_CHARACTERS) return said;
    const left = said.length - MAX_RESULT_CHARACTERS;
    return `${cutText(said, MAX_RESULT_CHARACTERS)}\n… (${left} more characters were cut)`;
  }

  #text(key: string): string {
    return textOf(this.#fields[key]);
  }
}

function textOfContent(item: JsonObject): string {
  const { type, content } = item;
  if (type === 'content' && isJsonObject(content)) return textOfBlock(content);
  if (type !== 'diff') return '';
  const { path, oldText, newText } = item;
  const sides = [['---', oldText] as const, ['+++', newText] as const];
  return sides
    .flatMap(([mark, text]) => (typeof text === 'string' ? [`${mark} ${word(path)}\n${text}`] : []))
    .join('\n');
}

/** The text of a content block; of one without text, what it is. */
export function textOfBlock(block: JsonObject): string {
  const { type, text, resource, uri } = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (isJsonObject(resource))
    return typeof resource['text'] === 'string' ? resource['text'] : `[${word(resource['uri'])}]`;
  return type === 'resource_link' ? word(uri) : `[${word(type)}]`;
}

function word(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '?';
}

function outputOf(rawOutput: JsonValue | undefined): string {
  if (rawOutput === undefined) return '';
  if (isJsonObject(rawOutput) && typeof rawOutput['output'] === 'string') return rawOutput['output'];
  return JSON.stringify(rawOutput, undefined, 2);
}

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
function shellLineOf({ argv }: Pick<CommandLine, 'argv'>): string {
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
function deedOfCall(fields: JsonObject): Deed {
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
function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

/** A text without white space at its ends; '' where it is no text. */
function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** What is shown of a line, and how many lines of a text: its beginning and its end. */
const MAX_LINE = 2000;
const MAX_LINES = { head: 40, tail: 15 };
/** Characters that a terminal obeys, or that hide or turn around what is beside them; newline and tab are none. */
const TRICKS = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Says on one line what would be done, by its arguments: `run npm publish (execute)`. No control character of an agent's
 * is in it.
 */
export function nameDeed(deed: Deed, cwd: string): string {
  const { kinds, command, changes, paths, title, more } = deed;
  const names = paths.filter((path) => path !== cwd).map((path) => shownPath(path, cwd));
  const what =
    command !== undefined
      ? `run ${shellLineOf(command)}`
      : changes.length > 0
        ? `write ${[...new Set(changes.map(({ path }) => shownPath(path, cwd)))].join(', ')}`
        : names.length > 0
          ? `${kinds[0]} ${names.join(', ')}`
          : Object.keys(more).length > 0
            ? `use a tool with ${JSON.stringify(more)}`
            : `do what it only calls ${JSON.stringify(title ?? '')}`;
  const unsaid = names.filter((name) => !what.includes(name));
  return `${onOneLine(what)} (${onOneLine([...kinds, ...unsaid].join(', '))})`;
}

/** Says all of what would be done: {@link nameDeed}, and below it, indented, its arguments and the agent's own words. */
export function showDeed(deed: Deed, cwd: string): string {
  const { command, changes, more, title, words } = deed;
  const name = nameDeed(deed, cwd);
  const line = command === undefined ? '' : shellLineOf(command);
  const parts = [
    ...(line.split('\n').length > 2 ? [onLines(line)] : []),
    ...(command?.cwd === undefined || command.cwd === cwd ? [] : [`in ${onOneLine(shownPath(command.cwd, cwd))}`]),
    ...Object.entries(command?.env ?? {}).map(([variable, value]) => `with ${onOneLine(`${variable}=${value}`)}`),
    ...changes.flatMap(({ path, oldText, newText }) => [
      ...(changes.length > 1 ? [`in ${onOneLine(shownPath(path, cwd))}`] : []),
      ...(oldText === undefined || oldText === '' ? [] : [onLines(oldText, '- ')]),
      onLines(newText, '+ '),
    ]),
    ...Object.entries(more).map(([key, value]) => onOneLine(`${key}: ${JSON.stringify(value)}`)),
    ...(title === undefined || title === line || name.includes(title)
      ? []
      : [`it calls this ${JSON.stringify(onOneLine(title, 300))}`]),
    ...(words === '' || words === line ? [] : [`it says ${JSON.stringify(onOneLine(words, 1000))}`]),
  ];
  const lines = keepEnds(parts.flatMap((part) => part.split('\n')));
  return [name, ...lines.map((text) => `  ${text}`)].join('\n');
}

function shownPath(path: string, cwd: string): string {
  return isWithin(path, cwd) ? relative(cwd, path) || '.' : path;
}

/** What a terminal would obey, and what hides in a text, is written out. */
function visible(text: string): string {
  return text.replaceAll(TRICKS, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

function onOneLine(text: string, maxCharacters = MAX_LINE): string {
  const line = visible(text.replaceAll(/\r?\n/gu, ' ⏎ ').replaceAll('\t', ' '));
  if (line.length <= maxCharacters) return line;
  // What is put in front to hide the end of it does not.
  const tail = Math.floor(maxCharacters / 4);
  const [start, end] = [cutText(line, maxCharacters - tail), line.slice(-tail).replace(/^[\uDC00-\uDFFF]/u, '')];
  return `${start} … (${line.length - maxCharacters} more characters) … ${end}`;
}

function onLines(text: string, mark = ''): string {
  const lines = text.replace(/\n$/u, '').split(/\r?\n/u);
  return keepEnds(lines.map((line) => mark + onOneLine(line, 500))).join('\n');
}

function keepEnds(lines: readonly string[]): readonly string[] {
  const { head, tail } = MAX_LINES;
  const left = lines.length - head - tail;
  return left <= 0 ? lines : [...lines.slice(0, head), `… (${left} more lines)`, ...lines.slice(-tail)];
}
