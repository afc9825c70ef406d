import { statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, resolve } from 'node:path';
import { configBoolean, findConfigEntry } from './config.ts';
import {
  absoluteGitEnvironment,
  commonDirOf,
  isGitDirectory,
  kindOfPath,
  readGitFile,
  realPath,
} from './git-directory.ts';
import type { GitEnvironment } from './git-directory.ts';
import { isOwn } from './ownership.ts';
import { readRepositoryConfig } from './repository-config.ts';
import { FolderNotFound, RepositoryNotFound } from './repository-not-found.ts';
import type { RepositoryLocation } from './repository.ts';

/**
 * Finds the repository that git would work on in a folder.
 *
 * `GIT_DIR` names it; else `.git` (a folder, or the file of a submodule or linked worktree) or a bare repository is
 * looked for in the folder and upward, as far as `GIT_CEILING_DIRECTORIES` and the file system's boundary
 * (`GIT_DISCOVERY_ACROSS_FILESYSTEM`). `GIT_COMMON_DIR`, `GIT_WORK_TREE`, `core.bare` and `core.worktree` are honoured.
 *
 * What was not named by `GIT_DIR` has to belong to this user, or to be allowed by the user's configuration of git, before
 * anything that it says of itself is read.
 * @param startDir relative paths in `env` are relative to it, as they are to git's working directory
 * @throws {FolderNotFound} if there is no such folder
 * @throws {RepositoryNotFound} if there is none
 * @throws {DubiousOwnership} {BareRepositoryRefused} if git would not work on it either
 * @throws {InvalidGitConfig} if its configuration cannot be read
 * Source: `setup_git_directory_gently_1` and its kin in git's setup.c; git(1), "The Git Repository".
 */
export async function discoverRepository(
  startDir: string,
  env: GitEnvironment,
  { isNamed = false }: DiscoverOptions = {},
): Promise<RepositoryLocation> {
  if (kindOfPath(startDir) !== 'folder') throw new FolderNotFound(startDir);
  const start = realPath(resolve(startDir));
  const found = env['GIT_DIR'] === undefined ? search(start, env) : explicit(start, env['GIT_DIR'], env);
  if (env['GIT_DIR'] === undefined) await assertMayUse(start, found, env, isNamed);
  const gitDir = realPath(found.gitDir);
  const commonDir = realPath(commonDirOf(gitDir, absoluteGitEnvironment(env, start)));
  return { gitDir, commonDir, workTree: workTreeOf(start, { ...found, gitDir, commonDir }, env) };
}

export type DiscoverOptions = {
  /** Whether the folder was named as the repository: a bare one may be used then where git wants to be told so. */
  isNamed?: boolean;
};

/** `workTree` is what the place of the repository suggests, before configuration and environment are asked. */
type Found = { gitDir: string; workTree: string | undefined; gitFile?: string };

/** Source: `setup_git_directory_gently_1` and `ensure_valid_ownership` in git's setup.c. */
async function assertMayUse(start: string, found: Found, env: GitEnvironment, isNamed: boolean): Promise<void> {
  const { gitDir, workTree, gitFile } = found;
  const foreign = [gitFile, workTree, gitDir].find((path) => path !== undefined && !isOwn(path, env));
  const isImplicitlyBare = workTree === undefined && !isNamed;
  if (foreign === undefined && !isImplicitlyBare) return;
  const { assertSafe } = await import('./native/assert-safe.ts');
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

/** Where git finds a repository by its folder and says of it what holds for its work tree. */
export function topOf(gitDir: string): string {
  return basename(gitDir) === '.git' ? dirname(gitDir) : gitDir;
}

/** The work tree, in the order in which git asks: `GIT_WORK_TREE`, `core.bare`, `core.worktree`, the place. */
function workTreeOf(start: string, found: Found & { commonDir: string }, env: GitEnvironment): string | undefined {
  const fromEnvironment = env['GIT_WORK_TREE'];
  if (fromEnvironment !== undefined) return realPath(resolve(start, fromEnvironment));
  const config = readRepositoryConfig(found.gitDir, found.commonDir);
  // What the shared configuration says of bareness and work tree is about the main worktree, not about linked ones.
  if (found.gitDir !== found.commonDir && !config.isPerWorktree) return found.workTree;
  if (configBoolean(findConfigEntry(config.all, 'core', 'bare'), config.path) === true) return undefined;
  const configured = findConfigEntry(config.all, 'core', 'worktree')?.value;
  return configured === undefined ? found.workTree : realPath(resolve(found.gitDir, configured));
}

/** The deepest ceiling that is a true ancestor of `start`: the search ends below it. */
function nearestCeiling(start: string, ceilings: string | undefined): string | undefined {
  let nearest: string | undefined;
  let resolvesLinks = true;
  for (const entry of (ceilings ?? '').split(delimiter)) {
    // After an empty entry git does not resolve symbolic links, to spare slow network folders.
    if (entry === '') resolvesLinks = false;
    if (!isAbsolute(entry)) continue;
    const path = resolvesLinks ? realPath(resolve(entry)) : resolve(entry);
    const isAncestor = start !== path && start.startsWith(path.endsWith('/') ? path : `${path}/`);
    if (isAncestor && (nearest === undefined || path.length > nearest.length)) nearest = path;
  }
  return nearest;
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}
