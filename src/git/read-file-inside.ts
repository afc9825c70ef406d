import { closeSync, constants, fstatSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { isDotGit } from './dot-git.ts';
import { isGitDirectory, kindOfPath } from './git-directory.ts';
import { errnoOf } from './object-errors.ts';
import { FileRefused, openToRead, READ, readOpened } from './read-regular-file.ts';

/** On macOS no link at all, wherever in the path. Source: open(2) there, `O_NOFOLLOW_ANY`. */
const NO_LINK = process.platform === 'darwin' ? 0x2000_0000 : constants.O_NOFOLLOW;
/** How often a file is opened that something is replaced of in the very moment, as editors do. */
const MOST_TRIES = 3;

/**
 * Reads a file whose path a repository decides: a regular file of bounded size that lies in a folder, and in no git folder
 * there, be it that of a submodule.
 *
 * Links are followed as long as they stay inside. What is read is what was looked at, also where files and folders are
 * exchanged meanwhile. Of what lies outside nothing is read, and nothing is said.
 * @param root where it has to lie: the work tree's top
 * @throws {FileRefused} if it lies elsewhere, is no regular file, or is larger
 * File system errors come through as they are, ENOENT among them.
 */
export function readFileInside(root: string, path: string, maxBytes: number): Buffer {
  for (let tries = 1; ; tries += 1) {
    const real = placeInside(root, path);
    const descriptor = openToRead(real, READ | NO_LINK);
    try {
      if (isAt(descriptor, real)) return readOpened(descriptor, path, maxBytes);
    } finally {
      closeSync(descriptor);
    }
    if (tries === MOST_TRIES) throw new FileRefused(path, 'changes its place', 'repeat it when nothing changes it');
  }
}

/**
 * Where a path really leads, also when only its upper folders exist.
 *
 * @throws {FileRefused} if that is outside a folder, or in a git folder
 */
export function placeInside(root: string, path: string): string {
  const top = realpathSync(root);
  const real = realPathOfAny(path);
  const inside = relative(top, real);
  const parts = inside.split(sep);
  if (parts[0] === '..' || isAbsolute(inside)) {
    throw new FileRefused(
      path,
      `lies outside ${root}`,
      'put the file itself there; links that lead out are not followed',
    );
  }
  const places = parts.map((_, depth) => join(top, ...parts.slice(0, depth + 1)));
  if (parts.some(isDotGit) || places.some((place) => kindOfPath(place) === 'folder' && isGitDirectory(place, {}))) {
    throw new FileRefused(path, 'lies in a git folder', 'put the file where git would track it');
  }
  return real;
}

function realPathOfAny(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const code = errnoOf(error);
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(path) === path) throw error;
    return join(realPathOfAny(dirname(path)), basename(path));
  }
}

/** Whether an open file is the one of a path without links: a folder above it may have been exchanged for a link. */
function isAt(descriptor: number, real: string): boolean {
  try {
    // Linux tells where what was opened lies.
    return readlinkSync(`/proc/self/fd/${descriptor}`) === real;
  } catch {
    const [opened, there] = [fstatSync(descriptor, { bigint: true }), lstatSync(real, { bigint: true })];
    return opened.ino === there.ino && opened.dev === there.dev && realpathSync(real) === real;
  }
}
