import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errnoOf } from './object-errors.ts';
import { readRegularFile } from './read-regular-file.ts';
import { isObjectId } from './object-id.ts';
import { RepositoryNotFound } from './repository-not-found.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/** Environment variables by name, as `process.env` has them. */
export type GitEnvironment = Readonly<Record<string, string | undefined>>;

/** The environment with its variables about refs and objects made absolute; git reads them from its working directory. */
export function absoluteGitEnvironment(env: GitEnvironment, startDir: string): GitEnvironment {
  const moved = ['GIT_COMMON_DIR', 'GIT_OBJECT_DIRECTORY'].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, resolve(startDir, value)] as const];
  });
  // To copy all that there is asks the system for each.
  return moved.length === 0 ? env : { ...env, ...Object.fromEntries(moved) };
}

/** The environment without the variables that say where a repository, its parts and its work tree are: for another one. */
export function withoutPlaces(env: GitEnvironment): GitEnvironment {
  const places = /^GIT_(?:DIR|COMMON_DIR|OBJECT_DIRECTORY|WORK_TREE|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !places.test(name)));
}

/**
 * Tells whether a folder is a repository's own folder: a `HEAD` that makes sense, `refs` and `objects`.
 *
 * Source: `is_git_directory` and `validate_headref` in git's setup.c and refs.c.
 */
export function isGitDirectory(path: string, env: GitEnvironment): boolean {
  if (!isHead(`${path}/HEAD`)) return false;
  const common = commonDirOf(path, env);
  const objects = env['GIT_OBJECT_DIRECTORY'] ?? `${common}/objects`;
  return isAccessible(objects) && isAccessible(`${common}/refs`);
}

/**
 * What linked worktrees share: `GIT_COMMON_DIR`, else what the file `commondir` names, else the folder itself.
 *
 * Source: gitrepository-layout(5), "commondir".
 */
export function commonDirOf(gitDir: string, env: GitEnvironment): string {
  const fromEnvironment = env['GIT_COMMON_DIR'];
  if (fromEnvironment !== undefined) return resolve(fromEnvironment);
  const text = readIfThere(`${gitDir}/commondir`);
  return text === undefined ? gitDir : resolve(gitDir, text.trimEnd());
}

/**
 * The folder that a `.git` file of a submodule or a linked worktree names.
 *
 * @throws {RepositoryNotFound} if the file says something else, or what it names is no repository
 * Source: gitrepository-layout(5), "gitfile"; `read_gitfile_gently` in git's setup.c.
 */
export function readGitFile(path: string, env: GitEnvironment): string {
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(readRegularFile(path, MAX_BYTES).toString('utf8'))?.[1];
  if (target === undefined) throw new RepositoryNotFound(path, "the file does not start with 'gitdir: '");
  const gitDir = resolve(dirname(path), target);
  if (!isGitDirectory(gitDir, env)) {
    throw new RepositoryNotFound(path, `it leads to ${gitDir}, where no repository is`);
  }
  return gitDir;
}

/** What lies at a path, symbolic links followed; `undefined` for nothing and for anything else. */
export function kindOfPath(path: string): 'file' | 'folder' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : undefined;
}

/** The path with symbolic links resolved, or as it is where it does not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * A file's text, or `undefined` if there is none.
 *
 * @throws {FileRefused} if it is no regular file, or larger than any of git's that is written by hand or has but a line
 */
export function readIfThere(path: string): string | undefined {
  try {
    return readRegularFile(path, MAX_BYTES).toString('utf8');
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Also a detached `HEAD`, and one that is a symbolic link, as very old gits wrote it. */
function isHead(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    return readlinkSync(path).startsWith('refs/');
  }
  if (kindOfPath(path) !== 'file') return false;
  const text = readIfThere(path) ?? '';
  return /^ref:\s*refs\//.test(text) || isObjectId(text.slice(0, 40));
}

function isAccessible(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
