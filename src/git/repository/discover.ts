import { existsSync, lstatSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import type { DiscoverOptions } from './ask-git.ts';
import { isGitDirectory, kindOfPath, readIfThere, realPath } from './git-directory.ts';
import { configuredWorkTree, readRepositoryConfig, type RepositoryConfig } from './repository-config.ts';

/**
 * Finds the repository that git works on in a folder, by asking git: by `GIT_DIR` and the like, else in the folder and upward.
 *
 * git refuses one that belongs to another user before it reads any of its configuration, unless the user's configuration allows it.
 * @param startDir relative paths in `env` are relative to it, as they are to git's working directory
 * @throws {UwfError} `folder-not-found` if there is no such folder
 * @throws {RepositoryNotFound} if there is none
 * @throws {UwfError} `dubious-ownership` {UwfError} `bare-repository-refused` if git refuses it
 * @throws {InvalidGitConfig} if its configuration cannot be read
 * @throws {GitNotFound} if there is no git, and it takes one to tell
 */
export async function discoverRepository(startDir: string, env: GitEnvironment): Promise<RepositoryLocation> {
  return (await discoverWithConfig(startDir, env)).location;
}

/** Finds a repository as {@link discoverRepository} does, and returns its own configuration too. */
export async function discoverWithConfig(
  startDir: string,
  env: GitEnvironment,
  options: DiscoverOptions = {},
): Promise<{ location: RepositoryLocation; config: RepositoryConfig }> {
  if (kindOfPath(startDir) !== 'folder') {
    const hint = 'name another folder with -C';
    const facts = { path: startDir };
    throw new UwfError(`there is no folder ${startDir}`, { code: 'folder-not-found', kind: 'usage', hint, facts });
  }
  const start = realPath(resolve(startDir));
  const ordinary = findOrdinary(start, env);
  if (ordinary !== undefined) return ordinary;
  const { askGit } = await import('./ask-git.ts');
  const location = await askGit(start, env, options);
  return { location, config: readRepositoryConfig(location.gitDir, location.commonDir) };
}

/** Variables that tell git where to look, or to refuse. */
const leading =
  /^GIT_(?:DIR|WORK_TREE|COMMON_DIR|OBJECT_DIRECTORY|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|TEST_ASSUME_DIFFERENT_OWNER)$/;

/**
 * Finds the repository without git where nobody doubts which one it is: a `.git` folder of this user in a folder of this user, with
 * nothing that leads elsewhere. To ask git takes a sixth of the time in which Node starts, for every command.
 */
function findOrdinary(
  start: string,
  env: GitEnvironment,
): { location: RepositoryLocation; config: RepositoryConfig } | undefined {
  if (Object.keys(env).some((name) => leading.test(name))) return undefined;
  let top = start;
  // A folder with a `HEAD` may be a bare repository.
  while (!existsSync(`${top}/.git`) && !existsSync(`${top}/HEAD`) && dirname(top) !== top) top = dirname(top);
  const gitDir = `${top}/.git`;
  if (!lstatSync(gitDir, { throwIfNoEntry: false })?.isDirectory() || existsSync(`${top}/HEAD`)) return undefined;
  if (statSync(top).dev !== statSync(start).dev || !isOwn(top, env) || !isOwn(gitDir, env)) return undefined;
  // Read, because git would take in a file of any size.
  if (!isGitDirectory(gitDir) || readIfThere(`${gitDir}/commondir`) !== undefined) return undefined;
  const config = readRepositoryConfig(gitDir, gitDir);
  if (config.isPerWorktree || configuredWorkTree(config, gitDir) !== undefined) return undefined;
  return { location: { gitDir, commonDir: gitDir, workTree: top }, config };
}

/** The folder in which git finds a repository together with its work tree. */
export function topOf(gitDir: string): string {
  return basename(gitDir) === '.git' ? dirname(gitDir) : gitDir;
}

/**
 * Tells whether a path belongs to this user, by the rules of git: root also owns the files of the user who called `sudo`.
 * Links are not followed. A missing path belongs to no user.
 * Source: `is_path_owned_by_current_uid` in git's git-compat-util.h.
 */
export function isOwn(path: string, env: GitEnvironment): boolean {
  const user = process.geteuid?.();
  // A system without user ids.
  if (user === undefined) return true;
  const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
  const [, caller] = (user === 0 && /^\s*\+?(\d+)$/.exec(env['SUDO_UID'] ?? '')) || [];
  return owner === user || (owner !== undefined && owner === Number(caller));
}
