import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../format/object-errors.ts';
import { share } from './sharing.ts';

/**
 * Makes a folder and its parents, with the permissions of a shared repository. Returns the topmost folder that was made, or
 * `undefined` if all existed.
 *
 * File system errors come through as they are. On a read-only file system Node reports ENOENT for a recursive `mkdir`; the
 * real error comes from making the folders one at a time.
 */
export function makeFolders(path: string): string | undefined {
  const made = make(path);
  if (made === undefined) return undefined;
  for (let folder = path; folder.length >= made.length; folder = dirname(folder)) share(folder);
  return made;
}

function make(path: string): string | undefined {
  try {
    return mkdirSync(path, { recursive: true });
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    const made = topmostMissing(path);
    // This reports the real error, or succeeds if another process had removed the folder just then.
    mkdirSync(made);
    mkdirSync(path, { recursive: true });
    return made;
  }
}

function topmostMissing(path: string): string {
  let missing = path;
  for (let above = dirname(missing); above !== missing && !existsSync(above); above = dirname(missing)) missing = above;
  return missing;
}
