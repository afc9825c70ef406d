import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { UwfError } from '../../errors.ts';
import { parseJson } from '../../json.ts';
import { orElse, tryTo } from '../../or-else.ts';
import type { Shape } from '../../shape.ts';
import { configBoolean, type ConfigEntry, findConfigEntry, InvalidGitConfig } from '../format/config.ts';
import { errnoOf, isNotThere } from '../format/errors.ts';

/** A file that exists but is not read: not a regular file, too large, or in a place where reading is not allowed. */
export class FileRefused extends UwfError {
  readonly path: string;
  /** What is wrong with it: `is not a regular file`. */
  readonly reason: string;
  constructor(path: string, reason: string, hint: string) {
    super(`${path} ${reason}`, { code: 'file-refused', kind: 'data', hint });
    this.path = path;
    this.reason = reason;
  }
}

/** Flags for opening a file to read: without waiting for the writer of a pipe. */
export const READ: number = constants.O_RDONLY | constants.O_NONBLOCK;
const CHUNK_BYTES = 64 * 1024;

/**
 * Reads a whole file, follows links, and never reads more than `maxBytes`: a device or a pipe can be endless.
 * @param flags how it is opened; with `O_NOFOLLOW` a link is refused
 * @throws {FileRefused} if it is no regular file, or larger
 * File system errors come through as they are, ENOENT among them.
 */
export function readRegularFile(path: string, maxBytes: number, flags: number = READ): Buffer {
  return whileOpen(openFile(path, flags), (descriptor) => readOpened(descriptor, path, maxBytes));
}

/** Reads an open file in the same way. */
export function readOpened(descriptor: number, path: string, maxBytes: number): Buffer {
  const stats = fstatSync(descriptor);
  if (!stats.isFile() && !stats.isDirectory())
    throw new FileRefused(path, 'is not a regular file', 'put an ordinary file there');
  const chunks: Buffer[] = [];
  // Reading a folder fails with EISDIR, which callers expect.
  let length = stats.isDirectory() ? 0 : stats.size;
  // Files that are generated while they are read, as in /proc, have size 0. They end where nothing more comes, others where
  // less comes than was asked for.
  const isStored = length > 0;
  for (let bytes = 0; length <= maxBytes; length = Math.max(length, bytes)) {
    const chunk = Buffer.allocUnsafe(
      Math.min(isStored && bytes === 0 ? length + 1 : CHUNK_BYTES, maxBytes + 1 - bytes),
    );
    const count = readSync(descriptor, chunk);
    if (count > 0) chunks.push(chunk.subarray(0, count));
    bytes += count;
    if (count === 0 || (isStored && count < chunk.length)) return Buffer.concat(chunks, bytes);
  }
  throw new FileRefused(path, `has more than ${maxBytes} bytes`, 'make it smaller');
}

/** @throws {FileRefused} if there is a link that may not be followed */
export function openFile(path: string, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (errnoOf(error) !== 'ELOOP') throw error;
    throw new FileRefused(path, 'is a link', 'put the file itself there');
  }
}

/** Works with an open file, and closes it afterwards, also after an error. */
export function whileOpen<T>(descriptor: number, work: (descriptor: number) => T): T {
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads from a position until the buffer is full or the file ends; returns the filled part. */
export function readAt(descriptor: number, buffer: Buffer, position: number): Buffer {
  let filled = 0;
  while (filled < buffer.byteLength) {
    const count = readSync(descriptor, buffer, filled, buffer.byteLength - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** The stats of a file, links followed; `undefined` if there is none, also where a file is in place of one of its folders. */
export function findStats(path: string): Stats | undefined {
  return orElse(() => statSync(path, { throwIfNoEntry: false }), undefined, isNotThere);
}

/** As {@link findStats} of the file itself, which may be a link. */
export function findOwnStats(path: string): BigIntStats | undefined {
  return orElse(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }), undefined, isNotThere);
}

/** The names in a folder, in no order; none where there is no folder. */
export function namesIn(folder: string): string[] {
  return orElse(() => readdirSync(folder), [], isNotThere);
}

/** The size of a file, or of all files below a folder. Files that disappear meanwhile count as empty. */
export function sizeOf(path: string): number {
  return orElse(() => {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return stats.size;
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
  }, 0);
}

/** Tells whether a file was last written more than `ageMs` ago; false if there is none. */
export function isOlderThan(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs;
}

/** What changed less than this ago can change again without a new time. */
const SETTLED_AFTER_MS = 2_500;

/** Tells whether a time of a file is so old that another change would give it another one; one in the future is not. */
export function isSettled(timeNs: bigint): boolean {
  return Number(timeNs / 1_000_000n) < Date.now() - SETTLED_AFTER_MS;
}

/**
 * Tells whether a file was last written `ageMs` from now or more, before or after: one from the future was written before the
 * clock was set back. False if there is none.
 */
export function isFarFromNow(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > ageMs;
}

/**
 * Makes a new small file whose content is worthless after a power cut, so it is not synced. A failure leaves no file behind.
 *
 * File system errors come through as they are, EEXIST among them.
 */
export function createFile(path: string, text: string): void {
  writeNewFile(path, [Buffer.from(text)], 0o666, () => {});
}

/**
 * Makes a new file and brings its content to the disk before it returns; a failure leaves no file behind.
 * @param mode the permissions before the umask
 * File system errors come through as they are, EEXIST among them.
 */
export function createDurableFile(path: string, chunks: Iterable<Uint8Array>, mode: number): void {
  writeNewFile(path, chunks, mode, fsyncSync);
}

function writeNewFile(
  path: string,
  chunks: Iterable<Uint8Array>,
  mode: number,
  sync: (descriptor: number) => void,
): void {
  const descriptor = openSync(path, 'wx', mode);
  let isComplete = false;
  try {
    for (const chunk of chunks) writeWhole(descriptor, chunk);
    share(path);
    sync(descriptor);
    isComplete = true;
  } finally {
    closeSync(descriptor);
    if (!isComplete) removeFile(path);
  }
}

/** Syncs a folder: files that were made, renamed or removed in it survive a power cut. */
export function syncFolder(path: string): void {
  // Some file systems cannot sync a folder; they order such changes themselves.
  const cannotSync = (error: unknown): boolean => errnoOf(error) === 'EINVAL' || errnoOf(error) === 'ENOTSUP';
  whileOpen(openSync(path, 'r'), (descriptor) => orElse(() => fsyncSync(descriptor), undefined, cannotSync));
}

/** Removes a file, if there is one. */
export function removeFile(path: string): void {
  orElse(() => unlinkSync(path), undefined, isNotThere);
}

function writeWhole(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.byteLength) written += writeSync(descriptor, bytes, written);
}

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

/** The permissions that `core.sharedRepository` gives to new files: added to those of the umask, or instead of them. */
type Sharing = { bits: number; isExact: boolean };

const GROUP: Sharing = { bits: 0o660, isExact: false };
const EVERYBODY: Sharing = { bits: 0o664, isExact: false };
const words: Readonly<Record<string, Sharing | null>> = {
  umask: null,
  group: GROUP,
  all: EVERYBODY,
  world: EVERYBODY,
  everybody: EVERYBODY,
};
const setGroupId = 0o2000;

/**
 * By the git folders of the repositories that this process has opened. Global, because code that makes files below a git
 * folder knows only the path.
 */
const sharings = new Map<string, Sharing>();

/**
 * Remembers how a repository is shared, for {@link share}.
 * @param folders its git folders
 * @param path names the configuration in errors
 * @throws {InvalidGitConfig} if git could not read the value either
 * Source: git-config(1), `core.sharedRepository`; `git_config_perm` in git's setup.c.
 */
export function rememberSharing(folders: readonly string[], entries: readonly ConfigEntry[], path: string): void {
  const sharing = readSharing(findConfigEntry(entries, 'core.sharedrepository'), path);
  for (const folder of folders) {
    if (sharing === null) sharings.delete(folder);
    else sharings.set(folder, sharing);
  }
}

/**
 * Gives a new file or folder the permissions of its shared repository. Does nothing for other repositories.
 *
 * File system errors come through as they are.
 * Source: `calc_shared_perm` and `adjust_shared_perm` in git's path.c.
 */
export function share(path: string): void {
  if (sharings.size === 0) return;
  const sharing = sharingOf(path);
  if (sharing === undefined) return;
  const stats = statSync(path);
  const mode = stats.mode & 0o7777;
  let { bits } = sharing;
  if ((mode & 0o200) === 0) bits &= ~0o222;
  if ((mode & 0o100) !== 0) bits |= (bits & 0o444) >> 2;
  let shared = sharing.isExact ? (mode & ~0o777) | bits : mode | bits;
  if (stats.isDirectory()) {
    shared |= (shared & 0o444) >> 2;
    if ((shared & 0o060) !== 0) shared |= setGroupId;
  }
  if (shared !== mode) chmodSync(path, shared);
}

function sharingOf(path: string): Sharing | undefined {
  for (const [folder, sharing] of sharings) if (path.startsWith(`${folder}/`)) return sharing;
  return undefined;
}

function readSharing(entry: ConfigEntry | undefined, path: string): Sharing | null {
  if (entry === undefined) return null;
  if (entry.value === undefined) return GROUP;
  const word = words[entry.value];
  if (word !== undefined) return word;
  if (!/^[0-7]+$/.test(entry.value)) return configBoolean(entry, path) === true ? GROUP : null;
  const number = Number.parseInt(entry.value, 8);
  // The form of older versions of git.
  if (number <= 2) return [null, GROUP, EVERYBODY][number] ?? null;
  if ((number & 0o600) !== 0o600) throw new InvalidGitConfig(path, entry.line, `its owner could not use what is made`);
  return { bits: number & 0o666, isExact: true };
}

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

/** Makes the folder of a cache file. @throws {LinkedStateFolder} if a link is in its place, which uwf did not make */
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

/** Tells whether a path is a folder or lies in it, by name: links are not followed. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
