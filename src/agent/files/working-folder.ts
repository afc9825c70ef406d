import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

import { isNotThere } from '../../git/format/object-errors.ts';
import type { GitEnvironment } from '../../git/repository.ts';
import { WorkingFolderMissing } from '../processes/start-program.ts';
import { GuardedPaths } from './guarded-paths.ts';

/** As many symbolic links as Linux itself follows (path_resolution(7)). */
const MAX_LINKS = 40;

/** The folder that an agent works in, and the files in it, links followed. */
export class WorkingFolder {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** What is kept from the agent there. */
  readonly guard: GuardedPaths;

  protected constructor(path: string, guard: GuardedPaths) {
    this.path = path;
    this.guard = guard;
  }

  /**
   * @param env as {@link GuardedPaths.at} takes it
   * @throws {WorkingFolderMissing}
   */
  static async at(path: string, env: GitEnvironment): Promise<WorkingFolder> {
    const real = await realpath(path).catch((cause: unknown) => {
      throw new WorkingFolderMissing(path, cause);
    });
    return new WorkingFolder(real, await GuardedPaths.at(real, env));
  }

  /**
   * Where a path leads: absolute, links followed as far as they exist, also those that lead to nothing yet.
   *
   * A relative path starts at the working folder.
   */
  async resolve(path: string): Promise<string> {
    return realPathOf(resolve(this.path, path));
  }
}

async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isNotThere(error) || links > MAX_LINKS) throw error;
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
