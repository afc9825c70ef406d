import { constants, lstatSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Shape } from '../shape.ts';
import { errnoOf } from './object-errors.ts';
import { makeFolders } from './make-folders.ts';
import { READ, readRegularFile } from './read-regular-file.ts';
import { share } from './sharing.ts';
import { LinkedStateFolder, REWRITE, writeOwnFile } from './state-folder.ts';

/** What is larger is worked out again. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * What a file holds that only this machine reads and that can be done without; `undefined` where there is none, or where
 * it is not what was written there.
 *
 * Such a file holds everything twice, so that damage shows: the halves differ. To compare them takes a memory compare;
 * a checksum takes 30 times as long in JavaScript, and 2 ms to load a module that has one, which is much for the commands
 * that read little else. What it is, and the file's own name, belong to the content: what another version wrote, or what
 * was written for another file, is not read.
 *
 * @param form what the file is, with a version that is raised when its content changes its meaning: `facts 4`
 */
export function readDerivedFile(path: string, form: string): string | undefined {
  try {
    const bytes = readRegularFile(path, MAX_BYTES, READ | constants.O_NOFOLLOW);
    const half = bytes.subarray(0, bytes.length / 2);
    if (!half.equals(bytes.subarray(half.length))) return undefined;
    const text = half.toString('utf8');
    const head = headOf(path, form);
    return text.startsWith(head) ? text.slice(head.length) : undefined;
  } catch {
    // There is none, or it cannot be read: it is worked out again.
    return undefined;
  }
}

/** The same of a file that holds JSON of a known form. */
export function readDerivedJson<T>(path: string, form: string, is: Shape<T>): T | undefined {
  const text = readDerivedFile(path, form);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return is(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes a file for {@link readDerivedFile}, replacing it as a whole. It is not synced.
 *
 * All writers share one temporary name, so that what a killed one left is written over; should two meet there, what a
 * reader finds is refused, or whole.
 */
export function writeDerivedFile(path: string, form: string, content: string): void {
  const temporary = `${path}.tmp`;
  try {
    makeFolders(dirname(path));
    const folder = dirname(path);
    if (lstatSync(folder).isSymbolicLink()) throw new LinkedStateFolder(folder);
    write(temporary, derivedContent(path, form, content));
    share(temporary);
    replaceFile(temporary, path);
  } catch (error) {
    tryToRemove(temporary);
    throw error;
  }
}

function write(temporary: string, content: string): void {
  try {
    writeOwnFile(temporary, REWRITE, content);
  } catch (error) {
    // A link, or a pipe that has no reader: nothing of uwf's makes one there.
    if (errnoOf(error) !== 'ELOOP' && errnoOf(error) !== 'ENXIO') throw error;
    rmSync(temporary);
    writeOwnFile(temporary, REWRITE, content);
  }
}

/** As {@link writeDerivedFile}, as far as the disk takes it. */
export function tryToWriteDerivedFile(path: string, form: string, content: string): void {
  try {
    writeDerivedFile(path, form, content);
  } catch {
    // A full disk, or a repository that may only be read.
  }
}

/** The whole content of a derived file, for a writer that has its own way to write it. */
export function derivedContent(path: string, form: string, content: string): string {
  return (headOf(path, form) + content).repeat(2);
}

function headOf(path: string, form: string): string {
  return `${form} ${basename(path)}\n`;
}

/** Renames a file, over what is in its place, a folder too. */
export function replaceFile(temporary: string, path: string): void {
  try {
    renameSync(temporary, path);
  } catch (error) {
    // A folder in the place of the file: nothing of uwf's makes one there.
    if (errnoOf(error) !== 'EISDIR') throw error;
    rmSync(path, { recursive: true, force: true });
    renameSync(temporary, path);
  }
}

function tryToRemove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Then it has to stay.
  }
}
