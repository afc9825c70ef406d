import { UwfError } from '../../errors.ts';
import { lstatSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, resolve } from 'node:path';
import {
  absoluteGitEnvironment,
  commonDirOf,
  isGitDirectory,
  kindOfPath,
  readGitFile,
  realPath,
} from './git-directory.ts';
import { configuredWorkTree, readRepositoryConfig, type RepositoryConfig } from './repository-config.ts';
import { RepositoryNotFound } from './repository-not-found.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';

/**
 * Finds the repository that git would work on in a folder.
 *
 * `GIT_DIR` names it. Otherwise searches for `.git` (a folder, or the file of a submodule or linked worktree) or a bare
 * repository in the folder and upward, as far as `GIT_CEILING_DIRECTORIES` and the file system's boundary
 * (`GIT_DISCOVERY_ACROSS_FILESYSTEM`). `GIT_COMMON_DIR`, `GIT_WORK_TREE`, `core.bare` and `core.worktree` are honoured.
 *
 * A repository that `GIT_DIR` does not name has to belong to this user, or to be allowed by the user's git configuration,
 * before any of its configuration is read.
 * @param startDir relative paths in `env` are relative to it, as they are to git's working directory
 * @throws {UwfError} `folder-not-found` if there is no such folder
 * @throws {RepositoryNotFound} if there is none
 * @throws {UwfError} `dubious-ownership` {UwfError} `bare-repository-refused` if git would not work on it either
 * @throws {InvalidGitConfig} if its configuration cannot be read
 * Source: `setup_git_directory_gently_1` and its kin in git's setup.c; git(1), "The Git Repository".
 */
export async function discoverRepository(startDir: string, env: GitEnvironment): Promise<RepositoryLocation> {
  return (await discoverWithConfig(startDir, env)).location;
}

/** Finds a repository as {@link discoverRepository} does, and returns its configuration too, which is read for that. */
export async function discoverWithConfig(
  startDir: string,
  env: GitEnvironment,
  { isNamed = false }: DiscoverOptions = {},
): Promise<{ location: RepositoryLocation; config: RepositoryConfig }> {
  if (kindOfPath(startDir) !== 'folder') {
    const hint = 'name another folder with -C';
    const facts = { path: startDir };
    throw new UwfError(`there is no folder ${startDir}`, { code: 'folder-not-found', kind: 'usage', hint, facts });
  }
  const start = realPath(resolve(startDir));
  const found = env['GIT_DIR'] === undefined ? search(start, env) : explicit(start, env['GIT_DIR'], env);
  if (env['GIT_DIR'] === undefined) await assertMayUse(start, found, env, isNamed);
  const gitDir = realPath(found.gitDir);
  const shared = commonDirOf(gitDir, absoluteGitEnvironment(env, start));
  const commonDir = shared === gitDir ? gitDir : realPath(shared);
  const config = readRepositoryConfig(gitDir, commonDir);
  // In the order of git: `GIT_WORK_TREE`, `core.bare`, `core.worktree`, the place. The shared configuration is about the main
  // work tree, not about linked ones.
  const isAboutThis = gitDir === commonDir || config.isPerWorktree;
  const configured = isAboutThis ? configuredWorkTree(config, gitDir) : undefined;
  const placed = configured === undefined ? found.workTree : (configured ?? undefined);
  const named = env['GIT_WORK_TREE'];
  const workTree = named === undefined ? placed : realPath(resolve(start, named));
  return { location: { gitDir, commonDir, workTree }, config };
}

export type DiscoverOptions = {
  /** Whether the caller named the folder as the repository, which allows a bare one under `safe.bareRepository=explicit`. */
  isNamed?: boolean;
};

/** `workTree` follows from the place of the repository, before configuration and environment are read. */
type Found = { gitDir: string; workTree: string | undefined; gitFile?: string };

/** Source: `setup_git_directory_gently_1` and `ensure_valid_ownership` in git's setup.c. */
async function assertMayUse(start: string, found: Found, env: GitEnvironment, isNamed: boolean): Promise<void> {
  const { gitDir, workTree, gitFile } = found;
  const foreign = [gitFile, workTree, gitDir].find((path) => path !== undefined && !isOwn(path, env));
  const isImplicitlyBare = workTree === undefined && !isNamed;
  if (foreign === undefined && !isImplicitlyBare) return;
  const { assertSafe } = await import('./assert-safe.ts');
  const place = workTree ?? (isNamed ? topOf(gitDir) : gitDir);
  await assertSafe({ folder: isNamed ? place : start, path: place, foreign, isImplicitlyBare }, env);
}

function explicit(start: string, gitDirVariable: string, env: GitEnvironment): Found {
  const path = resolve(start, gitDirVariable);
  const absolute = absoluteGitEnvironment(env, start);
  const gitDir = kindOfPath(path) === 'file' ? readGitFile(path, absolute) : path;
  if (gitDirVariable === '' || !isGitDirectory(gitDir, absolute)) {
    throw new RepositoryNotFound(path, 'GIT_DIR names it');
  }
  return { gitDir, workTree: start };
}

function search(start: string, env: GitEnvironment): Found {
  const absolute = absoluteGitEnvironment(env, start);
  const ceiling = nearestCeiling(start, env['GIT_CEILING_DIRECTORIES']);
  const staysOnDevice = !isTrue(env['GIT_DISCOVERY_ACROSS_FILESYSTEM']);
  const { dev } = statSync(start);
  for (let dir = start; ; dir = dirname(dir)) {
    const dotGit = resolve(dir, '.git');
    const kind = kindOfPath(dotGit);
    if (kind === 'file') {
      return { gitDir: realPath(readGitFile(dotGit, absolute)), workTree: dir, gitFile: dotGit };
    }
    if (kind === 'folder' && isGitDirectory(dotGit, absolute)) return { gitDir: dotGit, workTree: dir };
    if (isGitDirectory(dir, absolute)) return { gitDir: dir, workTree: undefined };
    const parent = dirname(dir);
    if (parent === dir || parent === ceiling) break;
    if (staysOnDevice && statSync(parent).dev !== dev) break;
  }
  throw new RepositoryNotFound(start);
}

/** The folder in which git finds a repository together with its work tree. */
export function topOf(gitDir: string): string {
  return basename(gitDir) === '.git' ? dirname(gitDir) : gitDir;
}

/** The deepest ceiling that is a true ancestor of `start`: the search ends below it. */
function nearestCeiling(start: string, ceilings: string | undefined): string | undefined {
  let nearest: string | undefined;
  let resolvesLinks = true;
  for (const entry of (ceilings ?? '').split(delimiter)) {
    // After an empty entry git does not resolve symbolic links, because network folders can be slow.
    if (entry === '') resolvesLinks = false;
    if (!isAbsolute(entry)) continue;
    const path = resolvesLinks ? realPath(resolve(entry)) : resolve(entry);
    const isAncestor = start !== path && start.startsWith(path.endsWith('/') ? path : `${path}/`);
    if (isAncestor && (nearest === undefined || path.length > nearest.length)) nearest = path;
  }
  return nearest;
}

function isTrue(value: string | undefined): boolean {
  return /^(?:1|true|yes|on)$/i.test(value ?? '');
}

/**
 * Tells whether a path belongs to this user, by the rules of git: root also owns the files of the user who called `sudo`.
 * Links are not followed. A missing path belongs to no user.
 *
 * Source: `is_path_owned_by_current_uid` in git's git-compat-util.h; `GIT_TEST_ASSUME_DIFFERENT_OWNER` in its setup.c.
 */
export function isOwn(path: string, env: GitEnvironment): boolean {
  if (isTrue(env['GIT_TEST_ASSUME_DIFFERENT_OWNER'])) return false;
  const user = process.geteuid?.();
  // A system without user ids.
  if (user === undefined) return true;
  const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
  const [, caller] = (user === 0 && /^\s*\+?(\d+)$/.exec(env['SUDO_UID'] ?? '')) || [];
  return owner === user || (owner !== undefined && owner === Number(caller));
}
