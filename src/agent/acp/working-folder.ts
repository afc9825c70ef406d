import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

import { isWithin } from '../../is-within.ts';

/** A path leads out of the working folder, by its name or through a symbolic link. */
export class OutsideFolder extends Error {
  readonly path: string;
  constructor(path: string, folder: string) {
    super(`${path} is outside the working folder ${folder}`);
    this.name = 'OutsideFolder';
    this.path = path;
  }
}

/** As many symbolic links as Linux itself follows (path_resolution(7)). */
const MAX_LINKS = 40;

/** The folder that an agent works in, and the files in it, links followed. */
export class WorkingFolder {
  /** Absolute, without symbolic links. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async at(path: string): Promise<WorkingFolder> {
    return new WorkingFolder(await realpath(path));
  }

  /**
   * Where a path leads: absolute, links followed as far as they exist, also those that lead to nothing yet.
   *
   * A relative path starts at the working folder.
   */
  async resolve(path: string): Promise<string> {
    return realPathOf(resolve(this.path, path));
  }

  /**
   * As {@link resolve}, for what has to stay in the folder.
   * @throws {OutsideFolder} where it does not
   */
  async resolveInside(path: string): Promise<string> {
    const found = await this.resolve(path);
    if (!isWithin(found, this.path)) throw new OutsideFolder(path, this.path);
    return found;
  }

  /** Tells whether a path, links followed, lies in the folder. */
  holds(real: string): boolean {
    return isWithin(real, this.path);
  }
}

async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    // NodeJS adds `code` to every error of a system call.
    const { code } = error as NodeJS.ErrnoException;
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || links > MAX_LINKS) throw error;
  }
  // A link to what is not there yet: writing to it would make a file where it points to.
  const target = await readlink(path).catch(() => undefined);
  if (target !== undefined) {
    const next = isAbsolute(target) ? target : resolve(await realPathOf(dirname(path), links + 1), target);
    return realPathOf(next, links + 1);
  }
  const parent = dirname(path);
  return parent === path ? path : join(await realPathOf(parent, links), basename(path));
}
