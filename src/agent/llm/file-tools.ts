import type { Dirent } from 'node:fs';
import { type FileHandle, lstat, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { printable } from '../../git/format/paths.ts';
import { isWithin } from '../../git/system/files.ts';
import { orElse } from '../../or-else.ts';
import { runInTimeBox, ValidationTimeout } from '../../schema/time-box.ts';
import { flagSchema, integerSchema, NOT_EMPTY, objectSchema, textSchema } from '../../schema/typed-schema.ts';
import type { AgentRequest } from '../contract.ts';
import { type Access, openFolder, type OpenFolder, PathFault, WorkingFolder } from '../files/working-folder.ts';
import { defineTool, type Tool, ToolFailure, ToolRefused } from './tool-box.ts';

const MAX_LINES = 2000;
const pathSchema = textSchema('from the working folder on', NOT_EMPTY);

const MAX_ENTRIES = 1000;

/** The tools that read, change and list files of the working folder. */
export function fileTools(folder: WorkFolder): Tool[] {
  return [
    defineTool({
      name: 'read_file',
      description: `Reads a text file (UTF-8), at most ${MAX_LINES} lines at once.`,
      input: objectSchema(
        { path: pathSchema },
        { offset: integerSchema('the first line, from 1', 1), limit: integerSchema('how many lines', 1) },
      ),
      async run({ path, offset = 1, limit = MAX_LINES }) {
        const content = await folder.readText(await folder.find(path));
        const lines = content.split('\n');
        if (lines.at(-1) === '') lines.pop();
        const end = Math.min(offset - 1 + Math.min(limit, MAX_LINES), lines.length);
        if (offset === 1 && end === lines.length) return content;
        if (offset > lines.length) throw new ToolFailure(`'${path}' has ${lines.length} lines`);
        const rest = end < lines.length ? `; go on with offset ${end + 1}` : '';
        return `${lines.slice(offset - 1, end).join('\n')}\n[lines ${offset} to ${end} of ${lines.length}${rest}]`;
      },
    }),
    defineTool({
      name: 'write_file',
      description: 'Writes a text file, in place of what was there; folders are made as needed.',
      input: objectSchema({ path: pathSchema, content: textSchema() }, {}),
      async run({ path, content }) {
        const real = await folder.findToWrite(path);
        const before = await stat(real).catch(() => undefined);
        if (before !== undefined && !before.isFile()) throw new ToolFailure(`'${path}' is there and is not a file`);
        // The model copied a � from a command's output: it stands for bytes that the model has not seen.
        if (before !== undefined && content.includes('�')) await folder.readText(real);
        await folder.writeText(real, content);
        return `${before === undefined ? 'made' : 'replaced'} ${folder.nameOf(real)}, ${Buffer.byteLength(content)} bytes`;
      },
    }),
    defineTool({
      name: 'edit_file',
      description:
        'Replaces a piece of a text file (UTF-8). The piece has to be there exactly as given, and once unless all is true.',
      input: objectSchema(
        {
          path: pathSchema,
          old: textSchema('the piece, with its white space', NOT_EMPTY),
          new: textSchema('what comes in its place'),
        },
        { all: flagSchema('replace it wherever it is') },
      ),
      async run({ path, old, new: replacement, all = false }) {
        const real = await folder.find(path, 'write');
        const pieces = (await folder.readText(real)).split(old);
        const count = pieces.length - 1;
        if (count === 0) throw new ToolFailure(`'${path}' does not have that piece; read it again and give it exactly`);
        if (count > 1 && !all) {
          throw new ToolFailure(
            `'${path}' has that piece ${count} times; give more of what is around it, or all: true`,
          );
        }
        await folder.writeText(real, pieces.join(replacement));
        return `replaced ${count === 1 ? 'one piece' : `${count} pieces`} of ${folder.nameOf(real)}`;
      },
    }),
    defineTool({
      name: 'list',
      description: `Lists files and folders (with a / at the end), at most ${MAX_ENTRIES}.`,
      input: objectSchema(
        {},
        {
          path: textSchema('the folder; by default the working folder'),
          depth: integerSchema('how deep to go (1)', 1, { maximum: 20 }),
        },
      ),
      async run({ path = '.', depth = 1 }, signal) {
        const real = await folder.find(path);
        if (!(await stat(real)).isDirectory()) throw new ToolFailure(`'${path}' is not a folder`);
        const lines: string[] = [];
        for await (const entry of walkFolder(folder, real, depth)) {
          signal.throwIfAborted();
          if (lines.length >= MAX_ENTRIES) return [...lines, '[there is more; list a folder in it]'].join('\n');
          lines.push(folder.nameOf(entry.path) + (entry.isFolder ? '/' : ''));
        }
        return lines.length === 0 ? '[nothing is in it]' : lines.join('\n');
      },
    }),
  ];
}

const MAX_MATCHES = 200;
const MAX_LINE_CHARACTERS = 300;
const MAX_DEPTH = 40;
/** How long the expression may take on one file, and on all. */
const FILE_MS = 1000;
const TOTAL_MS = 20_000;

/** The tool that searches files for a text or a regular expression. */
export function searchTool(folder: WorkFolder): Tool {
  return defineTool({
    name: 'search',
    description: `Searches text files line by line and lists path:line: text, at most ${MAX_MATCHES} lines. Leaves out node_modules and what is git's.`,
    input: objectSchema(
      { pattern: textSchema('a text, or with regex a regular expression', NOT_EMPTY) },
      {
        regex: flagSchema('pattern is a regular expression of JavaScript'),
        ignoreCase: flagSchema(),
        path: textSchema('a folder or a file; by default the working folder'),
        extension: textSchema('only files whose name ends so: .ts'),
      },
    ),
    async run({ pattern, regex = false, ignoreCase = false, path = '.', extension = '' }, signal) {
      const expression = compile(
        regex ? pattern : pattern.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`),
        ignoreCase,
      );
      const found: string[] = [];
      let spentMs = 0;
      for await (const real of filesIn(folder, await folder.find(path))) {
        signal.throwIfAborted();
        if (!real.endsWith(extension)) continue;
        const text = await folder.readToSearch(real);
        if (text === undefined) continue;
        const startedMs = performance.now();
        found.push(...matchesIn(text, expression, folder.nameOf(real), MAX_MATCHES - found.length + 1));
        spentMs += performance.now() - startedMs;
        if (spentMs > TOTAL_MS)
          throw new ToolFailure(`the search took too long; search a smaller folder than '${path}'`);
        if (found.length > MAX_MATCHES) {
          return [...found.slice(0, MAX_MATCHES), '[there are more; search for something rarer]'].join('\n');
        }
        // The engine's clocks and the abort get their turn between two files.
        await nextTurn();
      }
      return found.length === 0 ? '[nothing matches]' : found.join('\n');
    },
  });
}

async function* filesIn(folder: WorkFolder, real: string): AsyncGenerator<string, void, void> {
  let isEmpty = true;
  for await (const { path, isFolder } of walkFolder(folder, real, MAX_DEPTH)) {
    isEmpty = false;
    if (!isFolder) yield path;
  }
  // A file has nothing in it, as an empty folder; reading tells them apart.
  if (isEmpty) yield real;
}

/** Finds the lines that match; an expression that does not come to an end is stopped. */
function matchesIn(text: string, expression: RegExp, name: string, limit: number): string[] {
  const search = (): string[] => {
    const found: string[] = [];
    for (const [index, line] of text.split('\n').entries()) {
      if (!expression.test(line)) continue;
      const shown = line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)} […]` : line;
      if (found.push(`${name}:${index + 1}: ${shown}`) >= limit) break;
    }
    return found;
  };
  try {
    return runInTimeBox(search, FILE_MS);
  } catch (error) {
    if (!(error instanceof ValidationTimeout)) throw error;
    throw new ToolFailure(`the expression does not come to an end on ${name}; write one that repeats no repetition`);
  }
}

function compile(source: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(source, ignoreCase ? 'iu' : 'u');
  } catch (error) {
    throw new ToolFailure(messageOf(error));
  }
}

/** The folder of what package managers fetch. */
const FETCHED = 'node_modules';

type FolderEntry = { path: string; isFolder: boolean };

/**
 * Walks over what is in a folder, by name, each folder before what is in it. Links are listed and not followed; what is in
 * `node_modules` is left out, and so is what is guarded.
 */
async function* walkFolder(folder: WorkFolder, real: string, depth: number): AsyncGenerator<FolderEntry, void, void> {
  for (const entry of await entriesOf(folder, real)) {
    const path = join(real, entry.name);
    if (!folder.isFree(path)) continue;
    const isFolder = entry.isDirectory();
    yield { path, isFolder };
    if (isFolder && depth > 1 && entry.name !== FETCHED) yield* walkFolder(folder, path, depth - 1);
  }
}

async function entriesOf(folder: WorkFolder, real: string): Promise<Dirent[]> {
  try {
    const { handle, at } = await folder.openFolder(real);
    try {
      const entries = await readdir(at, { withFileTypes: true });
      return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    } finally {
      await handle.close();
    }
  } catch {
    return [];
  }
}

/** The largest file that is read or written at once. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

type Asking = Pick<AgentRequest, 'askPerson' | 'role'>;

/**
 * The folder that an agent works in, and the only one that its file tools touch.
 *
 * Paths are compared after every symbolic link in them was followed, so that neither `..` nor a link leads out. What
 * belongs to git and to uwf is guarded: see `GuardedPaths`. What is to be asked for, a person allows for this one call.
 */
export class WorkFolder extends WorkingFolder {
  readonly #request: Asking;

  private constructor({ path, guard }: WorkingFolder, request: Asking) {
    super(path, guard);
    this.#request = request;
  }

  static async open(request: Pick<AgentRequest, 'cwd' | 'env'> & Asking): Promise<WorkFolder> {
    return new WorkFolder(await WorkingFolder.at(request.cwd, request.env), request);
  }

  /**
   * The real path of something that is there.
   * @throws {ToolRefused} if it lies outside, belongs to git or uwf, or a person has not allowed it
   */
  async find(path: string, access: Access = 'read'): Promise<string> {
    const real = await this.#follow(path);
    // What is refused is not told to be there or not.
    await this.#pass(path, real, access);
    if ((await lstat(real).catch(() => undefined)) === undefined) throw new ToolFailure(`there is no '${path}'`);
    return real;
  }

  /** The real path of something that is to be written, whether it is there or not. */
  async findToWrite(path: string): Promise<string> {
    const real = await this.#follow(path);
    if (real === this.path) throw new ToolFailure(`'${path}' is the working folder itself`);
    await this.#pass(path, real, 'write');
    return real;
  }

  isFree(real: string): boolean {
    return this.guard.guardOf(real, 'read') === 'free';
  }

  /**
   * Reads a text file by its real path. Written back, the text makes the same bytes.
   * @throws {ToolRefused} if something has taken its place, or it is guarded under another name
   * @throws {ToolFailure} if it is none: a folder, a device, binary, not UTF-8, or too large
   */
  async readText(real: string): Promise<string> {
    const bytes = await this.#read(real);
    const text = orElse(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), undefined);
    // Written back as text, bytes would be lost.
    if (text === undefined) {
      throw this.#failure(real, 'is not a text in UTF-8; use a command that keeps its bytes, or convert it first');
    }
    if (text.includes('\0')) throw this.#failure(real, 'is not a text');
    return text;
  }

  /** Reads a file for a search. Bytes that are not UTF-8 become �, so the text must not be written back. */
  async readToSearch(real: string): Promise<string | undefined> {
    const bytes = await this.#read(real).catch(() => undefined);
    return bytes === undefined || bytes.includes(0) ? undefined : bytes.toString('utf8');
  }

  /**
   * Writes a text file in place of what was there; folders are made as needed.
   * @throws as `readText`; if the text has half of a surrogate pair, which UTF-8 cannot hold
   */
  async writeText(real: string, text: string): Promise<void> {
    if (/\p{Surrogate}/u.test(text)) throw this.#failure(real, 'would not be a text in UTF-8');
    if (text.length > MAX_FILE_BYTES) throw this.#failure(real, `would be longer than ${MAX_FILE_BYTES} bytes`);
    await this.#use(real, 'write', (file) => file.writeFile(text));
  }

  /** Opens a folder that was found, where it was then. */
  openFolder(real: string): Promise<OpenFolder> {
    return openFolder(real).catch((error: unknown) => this.#refuse(error, real));
  }

  /** How the model writes a real path: from the folder on. */
  nameOf(real: string): string {
    return relative(this.path, real).split(sep).join('/') || '.';
  }

  async #pass(path: string, real: string, access: Access): Promise<void> {
    const lexical = resolve(this.path, path);
    const guards = [real, ...(isWithin(lexical, this.path) ? [lexical] : [])].map((each) =>
      this.guard.guardOf(each, access),
    );
    const isToBe = access === 'read' ? 'is not to be read' : 'is not to be written';
    if (guards.includes('refused')) throw new ToolRefused(`'${path}' belongs to git or to uwf and ${isToBe}`);
    if (!guards.includes('asked')) return;
    const { askPerson, role } = this.#request;
    const name = printable(this.nameOf(real));
    const why = `'${path}' decides what git or uwf runs and ${isToBe} without the word of a person`;
    if (askPerson === undefined) throw new ToolRefused(`${why}; no person is there to permit it`);
    const answer = await askPerson(`${role} wants to: ${access} ${name}\nallow it? [y]es, [N]o `);
    if (!/^y(?:es)?$/iu.test(answer.trim())) throw new ToolRefused(`${why}; it was denied`);
  }

  #read(real: string): Promise<Buffer> {
    return this.#use(real, 'read', (file, size) => {
      if (size <= MAX_FILE_BYTES) return file.readFile();
      throw this.#failure(real, `has ${size} bytes, and at most ${MAX_FILE_BYTES} can be read at once`);
    });
  }

  async #use<Result>(
    real: string,
    access: Access,
    act: (file: FileHandle, size: number) => Promise<Result>,
  ): Promise<Result> {
    const file = await this.guard.open(real, access).catch((error: unknown) => this.#refuse(error, real));
    try {
      const stats = await file.stat();
      if (stats.isDirectory()) throw this.#failure(real, 'is a folder: list it instead');
      if (!stats.isFile()) throw this.#failure(real, 'is not a file');
      return await act(file, stats.size);
    } finally {
      await file.close();
    }
  }

  #failure(real: string, reason: string): ToolFailure {
    return new ToolFailure(`'${this.nameOf(real)}' ${reason}`);
  }

  #refuse(error: unknown, real: string): never {
    throw error instanceof PathFault ? new ToolRefused(`'${this.nameOf(real)}' ${error.reason}`) : error;
  }

  async #follow(path: string): Promise<string> {
    if (path.includes('\0')) throw new ToolFailure('a path has no NUL in it');
    const real = await this.resolve(path).catch((error: unknown) => {
      if (errnoOf(error) === 'ELOOP') throw new ToolFailure(`'${path}' is a link that leads to itself`);
      throw error;
    });
    if (!isWithin(real, this.path)) throw new ToolRefused(`'${path}' lies outside the working folder`);
    return real;
  }
}
