import { lstat, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

import { printable } from '../../../git/printable.ts';
import type { AgentRequest } from '../../contract.ts';
import { GuardedPaths, PathRefused } from '../../guarded-paths.ts';
import type { Access } from '../../guarded-paths.ts';
import { openFolder, PathMoved } from '../../open-unmoved.ts';
import type { OpenFolder } from '../../open-unmoved.ts';
import { ToolFailure, ToolRefused } from './tool.ts';
import { isWithin } from '../../../is-within.ts';

/**
 * The folder that an agent works in, and the only one that its file tools touch.
 *
 * Paths are compared after every symbolic link in them was followed, so that neither `..` nor a link leads out. What
 * belongs to git and to uwf is guarded: see `GuardedPaths`. What is to be asked for, a person allows for this one call.
 */
export class WorkFolder {
  /** Its real path. */
  readonly path: string;
  readonly #guarded: GuardedPaths;
  readonly #request: Pick<AgentRequest, 'askPerson' | 'role'>;

  private constructor(path: string, guarded: GuardedPaths, request: Pick<AgentRequest, 'askPerson' | 'role'>) {
    this.path = path;
    this.#guarded = guarded;
    this.#request = request;
  }

  static async open(request: Pick<AgentRequest, 'cwd' | 'env' | 'askPerson' | 'role'>): Promise<WorkFolder> {
    const path = await realpath(request.cwd);
    return new WorkFolder(path, await GuardedPaths.at(path, request.env), request);
  }

  /**
   * The real path of something that is there.
   * @param access what it is wanted for
   * @throws {ToolRefused} if it lies outside, belongs to git or uwf, or a person has not allowed it
   * @throws {ToolFailure} if there is no such thing
   */
  async find(path: string, access: Access = 'read'): Promise<string> {
    const { real, isThere } = await this.#follow(path);
    // What is refused is not told to be there or not.
    await this.#pass(path, real, access);
    if (!isThere) throw new ToolFailure(`there is no '${path}'`);
    return real;
  }

  /**
   * The real path of something that is to be written, whether it is there or not.
   * @throws {ToolRefused} as `find`
   */
  async findToWrite(path: string): Promise<string> {
    const { real } = await this.#follow(path);
    if (real === this.path) throw new ToolFailure(`'${path}' is the working folder itself`);
    await this.#pass(path, real, 'write');
    return real;
  }

  /** Tells whether a real path may be listed and searched without a word of a person. */
  isFree(real: string): boolean {
    return this.#guarded.verdictOn(real, 'read') === 'free';
  }

  /**
   * Opens a file that was found, where it was then; for writing it is made, or emptied.
   * @throws {ToolRefused} if something has taken its place, or it is guarded under another name
   */
  openFile(real: string, access: Access): Promise<FileHandle> {
    return this.#guarded.open(real, access).catch((error: unknown) => {
      throw this.#refusalOf(error, real);
    });
  }

  /**
   * Opens a folder that was found, where it was then.
   * @throws {ToolRefused} if something has taken its place
   */
  openFolder(real: string): Promise<OpenFolder> {
    return openFolder(real).catch((error: unknown) => {
      throw this.#refusalOf(error, real);
    });
  }

  /** How the model writes a real path: from the folder on. */
  nameOf(real: string): string {
    return relative(this.path, real).split(sep).join('/') || '.';
  }

  /** Tells whether a real path lies inside. */
  holds(real: string): boolean {
    return isWithin(real, this.path);
  }

  async #pass(path: string, real: string, access: Access): Promise<void> {
    const lexical = resolve(this.path, path);
    const verdicts = [real, ...(this.holds(lexical) ? [lexical] : [])].map((each) =>
      this.#guarded.verdictOn(each, access),
    );
    const isToBe = access === 'read' ? 'is not to be read' : 'is not to be written';
    if (verdicts.includes('refused')) throw new ToolRefused(`'${path}' belongs to git or to uwf and ${isToBe}`);
    if (!verdicts.includes('asked')) return;
    const { askPerson, role } = this.#request;
    const name = printable(this.nameOf(real));
    const why = `'${path}' decides what git or uwf runs and ${isToBe} without the word of a person`;
    if (askPerson === undefined) throw new ToolRefused(`${why}; no person is there to permit it`);
    const answer = await askPerson(`${role} wants to: ${access} ${name}\nallow it? [y]es, [N]o `);
    if (!/^y(?:es)?$/iu.test(answer.trim())) throw new ToolRefused(`${why}; it was denied`);
  }

  #refusalOf(error: unknown, real: string): unknown {
    if (error instanceof PathMoved) return new ToolRefused(`'${this.nameOf(real)}' leads elsewhere than a moment ago`);
    if (error instanceof PathRefused) return new ToolRefused(`'${this.nameOf(real)}' is a file of git or of uwf`);
    return error;
  }

  async #follow(path: string): Promise<{ real: string; isThere: boolean }> {
    if (path.includes('\0')) throw new ToolFailure('a path has no NUL in it');
    // What is not there yet is where its nearest folder that is there says.
    const missing: string[] = [];
    for (let at = resolve(this.path, path); ; at = dirname(at)) {
      const real = await realpath(at).catch(() => undefined);
      if (real !== undefined) {
        const whole = join(real, ...missing);
        if (!this.holds(whole)) throw new ToolRefused(`'${path}' lies outside the working folder`);
        return { real: whole, isThere: missing.length === 0 };
      }
      if (await isLink(at)) throw new ToolRefused(`'${path}' is a symbolic link that leads nowhere, or too far`);
      missing.unshift(at.slice(at.lastIndexOf(sep) + 1));
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}
