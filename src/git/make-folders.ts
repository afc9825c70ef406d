import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './object-errors.ts';
import { share } from './sharing.ts';

/**
 * Makes a folder and those above it, shared as their repository is; gives the first one that was made, or `undefined` where all were there.
 *
 * File system errors come through as they are, and as they should be: of a file system that is read-only Node says
 * ENOENT when it is asked to make folders recursively.
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
    // Made one at a time it says what is wrong; nothing is, where somebody had removed it just then.
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
