import { constants, fstatSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { isDotGit } from '../format/paths.ts';
import { isGitDirectory, kindOfPath } from './git-directory.ts';
import { isNotThere } from '../format/object-errors.ts';
import { FileRefused, openFile, READ, readOpened, whileOpen } from '../system/files.ts';

/** On macOS the flag refuses links anywhere in the path. Source: open(2) there, `O_NOFOLLOW_ANY`. */
const NO_LINK = process.platform === 'darwin' ? 0x2000_0000 : constants.O_NOFOLLOW;
/** How often a file is opened that is replaced at the same moment, as editors do. */
const MAX_TRIES = 3;

/**
 * Reads a file whose path a repository controls: a regular file of limited size inside a folder, and not inside a git folder
 * there, also not that of a submodule.
 *
 * Follows links that stay inside. Reads the file that was checked, even if files and folders are exchanged meanwhile. Reads
 * and reveals nothing outside.
 * @param root the folder that has to contain it: the top of the work tree
 * @throws {FileRefused} if it is elsewhere, not a regular file, or larger
 * File system errors come through as they are, ENOENT among them.
 */
export function readFileInside(root: string, path: string, maxBytes: number): Buffer {
  for (let tries = 1; ; tries += 1) {
    const real = placeInside(root, path);
    const content = whileOpen(openFile(real, READ | NO_LINK), (descriptor) =>
      isAt(descriptor, real) ? readOpened(descriptor, path, maxBytes) : undefined,
    );
    if (content !== undefined) return content;
    if (tries === MAX_TRIES) throw new FileRefused(path, 'changes its place', 'repeat it when nothing changes it');
  }
}

/**
 * Resolves links in a path, of which only the upper folders need to exist.
 *
 * @throws {FileRefused} if the target is outside of `root`, or in a git folder
 */
export function placeInside(root: string, path: string): string {
  const top = realpathSync(root);
  const real = realPathOfAny(path);
  const inside = relative(top, real);
  const parts = inside.split(sep);
  if (parts[0] === '..' || isAbsolute(inside)) {
    const hint = 'put the file itself there; links that lead out are not followed';
    throw new FileRefused(path, `lies outside ${root}`, hint);
  }
  const places = parts.map((_, depth) => join(top, ...parts.slice(0, depth + 1)));
  if (parts.some(isDotGit) || places.some((place) => kindOfPath(place) === 'folder' && isGitDirectory(place))) {
    throw new FileRefused(path, 'lies in a git folder', 'put the file where git would track it');
  }
  return real;
}

function realPathOfAny(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isNotThere(error) || dirname(path) === path) throw error;
    return join(realPathOfAny(dirname(path)), basename(path));
  }
}

/** Tells whether an open file is the one at a path without links, because a folder above it can be exchanged for a link. */
function isAt(descriptor: number, real: string): boolean {
  try {
    // Linux reports the path of an open file.
    return readlinkSync(`/proc/self/fd/${descriptor}`) === real;
  } catch {
    const [opened, there] = [fstatSync(descriptor, { bigint: true }), lstatSync(real, { bigint: true })];
    return opened.ino === there.ino && opened.dev === there.dev && realpathSync(real) === real;
  }
}
