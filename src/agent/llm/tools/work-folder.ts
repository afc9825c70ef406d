import { lstat } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';

import { errnoOf } from '../../../git/format/object-errors.ts';
import { printable } from '../../../git/format/paths.ts';
import type { AgentRequest } from '../../contract.ts';
import type { Access } from '../../files/guarded-paths.ts';
import { openFolder, type OpenFolder, PathFault } from '../../files/open-unmoved.ts';
import { WorkingFolder } from '../../files/working-folder.ts';
import { isWithin } from '../../../git/system/is-within.ts';
import { ToolFailure, ToolRefused } from './tool.ts';

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
    const text = await this.guard.readText(real).catch((error: unknown) => this.#fail(error, real));
    if (text.includes('\0')) throw new ToolFailure(`'${this.nameOf(real)}' is not a text`);
    return text;
  }

  /**
   * Reads a file for a search. Bytes that are not UTF-8 become �, so the text must not be written back.
   * @returns undefined if the file cannot be read, or is binary
   */
  async readToSearch(real: string): Promise<string | undefined> {
    const bytes = await this.guard.read(real).catch(() => undefined);
    return bytes === undefined || bytes.includes(0) ? undefined : bytes.toString('utf8');
  }

  /**
   * Writes a text file in place of what was there; folders are made as needed.
   * @throws as `readText`
   */
  async writeText(real: string, text: string): Promise<void> {
    await this.guard.write(real, text).catch((error: unknown) => this.#fail(error, real));
  }

  /**
   * Opens a folder that was found, where it was then.
   * @throws {ToolRefused} if something has taken its place
   */
  openFolder(real: string): Promise<OpenFolder> {
    return openFolder(real).catch((error: unknown) => this.#fail(error, real));
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

  #fail(error: unknown, real: string): never {
    if (!(error instanceof PathFault)) throw error;
    const name = this.nameOf(real);
    if (error.kind === 'unreadable') throw new ToolFailure(`'${name}' ${error.reason}`);
    throw new ToolRefused(`'${name}' ${error.kind === 'refused' ? 'is a file of git or of uwf' : error.reason}`);
  }

  async #follow(path: string): Promise<string> {
    if (path.includes('\0')) throw new ToolFailure('a path has no NUL in it');
    return this.resolveInside(path).catch((error: unknown) => {
      if (error instanceof PathFault) throw new ToolRefused(`'${path}' lies outside the working folder`);
      if (errnoOf(error) === 'ELOOP') throw new ToolFailure(`'${path}' is a link that leads to itself`);
      throw error;
    });
  }
}
