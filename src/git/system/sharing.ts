import { chmodSync, statSync } from 'node:fs';
import { configBoolean, findConfigEntry, InvalidGitConfig, type ConfigEntry } from '../format/config.ts';

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
