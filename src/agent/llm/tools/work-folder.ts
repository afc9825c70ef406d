import { type FileHandle, lstat } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';

import { errnoOf } from '../../../git/format/object-errors.ts';
import { printable } from '../../../git/format/paths.ts';
import type { AgentRequest } from '../../contract.ts';
import type { Access } from '../../files/guarded-paths.ts';
import { openFolder, type OpenFolder, PathFault } from '../../files/open-unmoved.ts';
import { WorkingFolder } from '../../files/working-folder.ts';
import { isWithin } from '../../../git/system/is-within.ts';
import { orElse } from '../../../or-else.ts';
import { ToolFailure, ToolRefused } from './tool.ts';

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

  /** @throws {WorkingFolderMissing} */
  static async open(request: Pick<AgentRequest, 'cwd' | 'env'> & Asking): Promise<WorkFolder> {
    return new WorkFolder(await WorkingFolder.at(request.cwd, request.env), request);
  }

  /**
   * The real path of something that is there.
   * @param access what it is wanted for
   * @throws {ToolRefused} if it lies outside, belongs to git or uwf, or a person has not allowed it
   * @throws {ToolFailure} if there is no such thing
   */
  async find(path: string, access: Access = 'read'): Promise<string> {
    const real = await this.#follow(path);
    // What is refused is not told to be there or not.
    await this.#pass(path, real, access);
    if ((await lstat(real).catch(() => undefined)) === undefined) throw new ToolFailure(`there is no '${path}'`);
    return real;
  }

  /**
   * The real path of something that is to be written, whether it is there or not.
   * @throws {ToolRefused} as `find`
   */
  async findToWrite(path: string): Promise<string> {
    const real = await this.#follow(path);
    if (real === this.path) throw new ToolFailure(`'${path}' is the working folder itself`);
    await this.#pass(path, real, 'write');
    return real;
  }

  /** Tells whether a real path may be listed and searched without asking a person. */
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

  /**
   * Reads a file for a search. Bytes that are not UTF-8 become �, so the text must not be written back.
   * @returns undefined if the file cannot be read, or is binary
   */
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

  /**
   * Opens a folder that was found, where it was then.
   * @throws {ToolRefused} if something has taken its place
   */
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
