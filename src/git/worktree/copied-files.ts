import { constants, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orElse } from '../../or-else.ts';
import { isNotThere } from '../format/object-errors.ts';
import type { RepositoryLocation } from '../repository.ts';
import { makeDerivedFolder, replaceFile } from '../system/derived-file.ts';
import { READ, readRegularFile } from '../system/read-regular-file.ts';
import { REWRITE, writeOwnFile } from '../system/state-folder.ts';

/** A file of the main work tree that names ignored files to copy, with the patterns of a `.gitignore`. */
export const INCLUDE_FILE = '.worktreeinclude';

type Place = Pick<RepositoryLocation, 'gitDir'>;

const MAX_BYTES = 256 * 1024 * 1024;
const NONE = Buffer.alloc(0);

/**
 * Notes which ignored files of another work tree were copied into this one; paths in Latin-1. A snapshot never records them,
 * whatever is ignored later. File system errors come through as they are.
 */
export function noteCopied(location: Place, paths: readonly string[]): void {
  notePaths(location, 'copied', paths);
}

/** The files that were copied into a work tree; paths in Latin-1. */
export function readCopied(location: Place): Set<string> {
  return readPaths(location, 'copied');
}

/**
 * Notes which files of a work tree uwf, and not git, has marked as conflicts; paths in Latin-1. File system errors come through as
 * they are.
 */
export function noteMarked(location: Place, paths: readonly string[]): void {
  notePaths(location, 'marked', paths);
}

/** The files that uwf has marked as conflicts; paths in Latin-1. */
export function readMarked(location: Place): Set<string> {
  return readPaths(location, 'marked');
}

/** Lets copied files be recorded from now on. File system errors come through as they are. */
export function forgetCopied(location: Place, paths: readonly string[]): void {
  if (paths.length === 0) return;
  const allowed = new Set(paths);
  noteCopied(
    location,
    [...readCopied(location)].filter((path) => !allowed.has(path)),
  );
}

/** In the work tree's own folder of git, which `git worktree remove` removes. */
function noteAt({ gitDir }: Place, name: string): string {
  return join(gitDir, 'uwf', name);
}

function notePaths(location: Place, name: string, paths: readonly string[]): void {
  const file = noteAt(location, name);
  if (paths.length === 0) return rmSync(file, { force: true });
  makeDerivedFolder(dirname(file));
  writeOwnFile(`${file}.tmp`, REWRITE, Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1'));
  replaceFile(`${file}.tmp`, file);
}

function readPaths(location: Place, name: string): Set<string> {
  const noted = orElse(
    () => readRegularFile(noteAt(location, name), MAX_BYTES, READ | constants.O_NOFOLLOW),
    NONE,
    isNotThere,
  );
  return new Set(noted.toString('latin1').split('\0').slice(0, -1));
}
