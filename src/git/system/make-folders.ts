import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../format/object-errors.ts';
import { share } from './sharing.ts';

/** How often a parent is made again that another process has removed. */
const MAX_TRIES = 100;

/**
 * Makes a folder and its parents, with the permissions of a shared repository. Returns the topmost folder that was made, or
 * `undefined` if all existed.
 *
 * File system errors come through as they are. Node's own recursive `mkdir` reports ENOENT on a read-only file system, and
 * does not end below `/proc`.
 */
export function makeFolders(path: string): string | undefined {
  // Most are there, and a failed call costs more than this one.
  if (isFolder(path)) return undefined;
  const made = make(path);
  if (made === undefined) return undefined;
  for (let folder = path; folder.length >= made.length; folder = dirname(folder)) share(folder);
  return made;
}

function make(path: string): string | undefined {
  let made: string | undefined;
  for (let tries = 1; ; tries += 1) {
    try {
      mkdirSync(path);
      return made ?? path;
    } catch (error) {
      if (isFolder(path)) return made;
      const above = dirname(path);
      if (errnoOf(error) !== 'ENOENT' || above === path || tries === MAX_TRIES) throw error;
      // A parent that is there, and takes no folder.
      if (isFolder(above)) throw error;
      made = make(above) ?? made;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
