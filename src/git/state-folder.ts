import { closeSync, constants, lstatSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { UwfError } from '../errors.ts';
import { errnoOf } from './object-errors.ts';

/** Something in uwf's folder of a git folder is a link: whoever made it chose where uwf would write and remove. */
export class LinkedStateFolder extends UwfError {
  readonly path: string;
  constructor(path: string) {
    super(`${path} is a link, and uwf keeps its files in no folder that one leads to`, {
      code: 'linked-state-folder',
      kind: 'environment',
      hint: 'see where it leads, and remove it: uwf makes a folder of its own',
    });
    this.path = path;
  }
}

/**
 * Makes sure that uwf's folder in a git folder, and the folders in it, are folders: a git folder may come from elsewhere.
 *
 * Files are held to it where they are opened, by `O_NOFOLLOW` or as new ones.
 * @throws {LinkedStateFolder}
 */
export function assertNoLinks(stateDir: string): void {
  if (lstatSync(stateDir, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw new LinkedStateFolder(stateDir);
  try {
    // Where threads have folders of their own by a part of their ids.
    for (const folder of [stateDir, `${stateDir}/facts`]) {
      const link = readdirSync(folder, { withFileTypes: true }).find((entry) => entry.isSymbolicLink());
      // One in the place of the configuration is refused when that is read.
      if (link !== undefined && link.name !== 'config.yaml') throw new LinkedStateFolder(`${folder}/${link.name}`);
    }
  } catch (error) {
    // Not made yet, or not to be read.
    if (error instanceof LinkedStateFolder || !['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? ''))
      throw error;
  }
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;

/** How a file of uwf's is opened to be written on; never through a link, and without waiting for who reads a pipe. */
export const APPEND: number = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
/** The same to be written anew. */
export const REWRITE: number = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;

/** Writes to a file that is opened as {@link APPEND} or {@link REWRITE} say. File system errors come through as they are. */
export function writeOwnFile(path: string, flags: number, text: string, mode: number = 0o666): void {
  const descriptor = openSync(path, flags, mode);
  try {
    writeFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}
