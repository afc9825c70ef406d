import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

import { ToolFailure, ToolRefused } from './tool.ts';

/**
 * The folder that an agent works in, and the only one that its file tools touch.
 *
 * Paths are compared after every symbolic link in them was followed, so that neither `..` nor a link leads out.
 */
export class WorkFolder {
  /** Its real path. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async open(cwd: string): Promise<WorkFolder> {
    return new WorkFolder(await realpath(cwd));
  }

  /**
   * The real path of something that is there.
   * @throws {ToolRefused} if it lies outside
   * @throws {ToolFailure} if there is no such thing
   */
  async find(path: string): Promise<string> {
    const { real, isThere } = await this.#follow(path);
    if (!isThere) throw new ToolFailure(`there is no '${path}'`);
    return real;
  }

  /**
   * The real path of something that is to be written, whether it is there or not.
   * @throws {ToolRefused} if it lies outside, or in a `.git` folder, whose hooks and configuration are programs
   */
  async findToWrite(path: string): Promise<string> {
    const { real } = await this.#follow(path);
    if (real === this.path) throw new ToolFailure(`'${path}' is the working folder itself`);
    const names = relative(this.path, real).split(sep);
    if (names.some((name) => name.toLowerCase() === '.git')) {
      throw new ToolRefused(`'${path}' belongs to git and is not to be written`);
    }
    return real;
  }

  /** How the model writes a real path: from the folder on. */
  nameOf(real: string): string {
    return relative(this.path, real).split(sep).join('/') || '.';
  }

  /** Tells whether a real path lies inside. */
  holds(real: string): boolean {
    return real === this.path || real.startsWith(this.path.endsWith(sep) ? this.path : this.path + sep);
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
