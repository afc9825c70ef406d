import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { orElse } from '../../or-else.ts';
import { configBoolean, type ConfigEntry, findConfigEntry, InvalidGitConfig } from '../format/config.ts';
import { errnoOf, isNotThere } from '../format/object-errors.ts';
import { whileOpen } from './files.ts';

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
 *
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
 *
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
