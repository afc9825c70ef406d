import { constants, lstatSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import { errnoOf } from '../format/object-errors.ts';
import { whileOpen } from './while-open.ts';

/** A link in uwf's state folder. The author of the link would choose where uwf writes and removes files. */
export class LinkedStateFolder extends UwfError {
  constructor(path: string) {
    super(`${path} is a link, and uwf keeps its files in no folder that one leads to`, {
      code: 'linked-state-folder',
      kind: 'environment',
      hint: 'see where it leads, and remove it: uwf makes a folder of its own',
      facts: { path },
    });
  }
}

/**
 * Checks that uwf's state folder and the folders in it are no links: a git folder can come from another person.
 *
 * Files are checked when they are opened, by `O_NOFOLLOW` or `O_EXCL`.
 * @throws {LinkedStateFolder}
 */
export function assertNoLinks(stateDir: string): void {
  if (lstatSync(stateDir, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw new LinkedStateFolder(stateDir);
  try {
    // `facts` has a folder for each first part of thread ids.
    for (const folder of [stateDir, `${stateDir}/facts`]) {
      const link = readdirSync(folder, { withFileTypes: true }).find((entry) => entry.isSymbolicLink());
      // A link in the place of the configuration is refused when it is read.
      if (link !== undefined && link.name !== 'config.yaml') throw new LinkedStateFolder(`${folder}/${link.name}`);
    }
  } catch (error) {
    // Not made yet, or not readable.
    if (error instanceof LinkedStateFolder || !['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? ''))
      throw error;
  }
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;

/** Flags for appending to a file of uwf's: never through a link, and without waiting for the reader of a pipe. */
export const APPEND: number = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
/** Flags for overwriting such a file. */
export const REWRITE: number = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;

/** Writes a file with the flags {@link APPEND} or {@link REWRITE}. File system errors come through as they are. */
export function writeOwnFile(path: string, flags: number, content: string | Uint8Array, mode: number = 0o666): void {
  whileOpen(openSync(path, flags, mode), (descriptor) => writeFileSync(descriptor, content));
}
