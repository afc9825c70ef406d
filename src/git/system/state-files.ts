import { constants, lstatSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { UwfError } from '../../errors.ts';
import { parseJson } from '../../json.ts';
import { orElse, tryTo } from '../../or-else.ts';
import type { Shape } from '../../shape.ts';
import { errnoOf } from '../format/object-errors.ts';
import { READ, readRegularFile, whileOpen } from './files.ts';
import { makeFolders, share } from './write-files.ts';

/** A link in uwf's state folder. The author of the link would choose where uwf writes and removes files. */
class LinkedStateFolder extends UwfError {
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

/** A larger file is not read: its content is computed again. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a cache file of this machine; `undefined` if there is none, or its content is damaged.
 *
 * Such a file holds its content twice, so that damage shows: the halves differ. Comparing them is a memory compare. A
 * checksum in JavaScript takes 30 times as long, and loading a module with one takes 2 ms, which is much for a command that
 * reads little else. The form and the name of the file are part of the content, so that the file of another version, or of
 * another name, is not read.
 *
 * @param form what the file is, with a version that rises when the meaning of its content changes: `facts 4`
 */
export function readDerivedFile(path: string, form: string): string | undefined {
  // Where it is missing or unreadable, the content is computed again.
  const bytes = orElse(() => readRegularFile(path, MAX_BYTES, READ | constants.O_NOFOLLOW), undefined);
  if (bytes === undefined) return undefined;
  const half = bytes.subarray(0, bytes.length / 2);
  if (!half.equals(bytes.subarray(half.length))) return undefined;
  const text = half.toString('utf8');
  const head = headOf(path, form);
  return text.startsWith(head) ? text.slice(head.length) : undefined;
}

/** Reads a cache file that holds JSON of a known shape. */
export function readDerivedJson<T>(path: string, form: string, is: Shape<T>): T | undefined {
  const text = readDerivedFile(path, form);
  const value = text === undefined ? undefined : parseJson(text);
  return is(value) ? value : undefined;
}

/**
 * Writes a file for {@link readDerivedFile}, replacing it as a whole. It is not synced.
 *
 * All writers share one temporary name, so that the file of a killed writer is overwritten. If two writers meet there, a
 * reader finds a whole file or one that it refuses.
 */
export function writeDerivedFile(path: string, form: string, content: string): void {
  const temporary = `${path}.tmp`;
  try {
    makeDerivedFolder(dirname(path));
    write(temporary, derivedContent(path, form, content));
    share(temporary);
    replaceFile(temporary, path);
  } catch (error) {
    tryTo(() => rmSync(temporary, { recursive: true, force: true }));
    throw error;
  }
}

/**
 * Makes the folder of a cache file.
 * @throws {LinkedStateFolder} if a link is in its place, which uwf did not make
 */
export function makeDerivedFolder(folder: string): void {
  makeFolders(folder);
  if (lstatSync(folder).isSymbolicLink()) throw new LinkedStateFolder(folder);
}

function write(temporary: string, content: string): void {
  try {
    writeOwnFile(temporary, REWRITE, content);
  } catch (error) {
    // A link, or a pipe without a reader: uwf makes neither.
    if (errnoOf(error) !== 'ELOOP' && errnoOf(error) !== 'ENXIO') throw error;
    rmSync(temporary);
    writeOwnFile(temporary, REWRITE, content);
  }
}

/** Writes as {@link writeDerivedFile} does, and ignores failure. */
export function tryToWriteDerivedFile(path: string, form: string, content: string): void {
  // An error means a full disk, or a read-only repository.
  tryTo(() => writeDerivedFile(path, form, content));
}

/** The whole content of a derived file, for callers that write it themselves. */
export function derivedContent(path: string, form: string, content: string): string {
  return (headOf(path, form) + content).repeat(2);
}

function headOf(path: string, form: string): string {
  return `${form} ${basename(path)}\n`;
}

/** Renames a file and replaces what is in its place, also a folder. */
export function replaceFile(temporary: string, path: string): void {
  try {
    renameSync(temporary, path);
  } catch (error) {
    // A folder is in the place of the file: uwf makes none there.
    if (errnoOf(error) !== 'EISDIR') throw error;
    rmSync(path, { recursive: true, force: true });
    renameSync(temporary, path);
  }
}
