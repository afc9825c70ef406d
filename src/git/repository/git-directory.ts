import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { orElse, succeeds } from '../../or-else.ts';
import { isNotThere } from '../format/object-errors.ts';
import { isObjectId } from '../format/object-id.ts';
import type { GitEnvironment, Repository } from '../repository.ts';
import { readRegularFile, whileOpen } from '../system/files.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/**
 * The environment with absolute paths in its variables about refs and objects, which git resolves from its working directory.
 */
export function absoluteGitEnvironment(env: GitEnvironment, startDir: string): GitEnvironment {
  const moved = ['GIT_COMMON_DIR', 'GIT_OBJECT_DIRECTORY'].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, resolve(startDir, value)] as const];
  });
  // Copying `process.env` asks the system for every variable.
  return moved.length === 0 ? env : { ...env, ...Object.fromEntries(moved) };
}

/**
 * Variables that name a repository, one of its parts, or a place in it. git sets some of them for hooks and for other programs
 * that it runs.
 *
 * Source: git-rev-parse(1), `--local-env-vars`, without those that carry settings; git(1), `GIT_NAMESPACE`; `GIT_QUARANTINE_PATH`
 * in git-receive-pack(1).
 */
const places =
  /^GIT_(?:DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|QUARANTINE_PATH|GRAFT_FILE|SHALLOW_FILE|CONFIG|PREFIX|INTERNAL_SUPER_PREFIX|NAMESPACE)$/;

/** The environment without the variables that name a repository, its parts and its work tree: for work elsewhere. */
export function withoutPlaces<Value>(env: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !places.test(name)));
}

/** The same without the variables that limit how far git searches: for the repository of a folder that is known to be in one. */
export function forSearchIn(env: GitEnvironment): GitEnvironment {
  const { GIT_CEILING_DIRECTORIES: _ceilings, GIT_DISCOVERY_ACROSS_FILESYSTEM: _across, ...rest } = withoutPlaces(env);
  return rest;
}

/**
 * Tells whether a folder is a git folder of its own: it has a valid `HEAD`, `refs` and `objects`.
 *
 * Source: `is_git_directory` and `validate_headref` in git's setup.c and refs.c.
 */
export function isGitDirectory(path: string): boolean {
  return isHead(`${path}/HEAD`) && isAccessible(`${path}/objects`) && isAccessible(`${path}/refs`);
}

/** Where the text of a `.git` file leads, which need not be there; `undefined` if it has another form. */
export function targetOfGitFile(path: string, text: string): string | undefined {
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(text)?.[1];
  return target === undefined ? undefined : resolve(dirname(path), target);
}

/** The kind of a path, with symbolic links followed; `undefined` if it is missing or of another kind. */
export function kindOfPath(path: string): 'file' | 'folder' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : undefined;
}

/** The path with symbolic links resolved, or unchanged if it does not exist. */
export function realPath(path: string): string {
  return existsSync(path) ? orElse(() => realpathSync(path), path) : path;
}

/**
 * A file's text, or `undefined` if there is none.
 *
 * @throws {FileRefused} if it is no regular file, or larger than 4 MiB
 */
export function readIfThere(path: string): string | undefined {
  // Most files that are asked for are missing, and an exception costs 0.1 ms for each.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  return orElse(() => readRegularFile(path, MAX_BYTES).toString('utf8'), undefined, isNotThere);
}

/** The first bytes of a file, zeros behind its end. File system errors come through as they are. */
export function startOfFile(path: string, length: number): Buffer {
  const start = Buffer.alloc(length);
  whileOpen(openSync(path, 'r'), (descriptor) => readSync(descriptor, start, 0, length, 0));
  return start;
}

/** Also accepts a detached `HEAD`, and a symbolic link, as very old versions of git wrote it. */
function isHead(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink()) return readlinkSync(path).startsWith('refs/');
  if (!stats?.isFile()) return false;
  const text = readIfThere(path) ?? '';
  return /^ref:\s*refs\//.test(text) || isObjectId(text.slice(0, 40));
}

function isAccessible(path: string): boolean {
  return succeeds(() => accessSync(path, constants.X_OK));
}

/** Tells whether a path leads to a file that this process may execute; not if it cannot be looked at. */
export function isExecutable(path: string): boolean {
  // Most folders of a PATH have no such program, and an exception costs 0.1 ms for each.
  return existsSync(path) && isAccessible(path) && orElse(() => kindOfPath(path), undefined) === 'file';
}

/** The search found no git repository. */
export class RepositoryNotFound extends UwfError {
  /** @param reason what is wrong with `path`; absent: neither it nor a folder above it is a repository */
  constructor(path: string, reason?: string) {
    super(reason === undefined ? `${path} is not in a git repository` : `${path} is not a git repository: ${reason}`, {
      code: 'repository-not-found',
      kind: 'environment',
      hint: "run 'git init' first, or name another folder with -C",
      facts: { path },
    });
  }
}

/**
 * Checks that an open repository still exists. Readers would take a deleted one for empty, and writers would create its
 * folders again, with nothing else in them.
 * @throws {UwfError} `repository-not-found`
 */
export function assertThere({ location }: Pick<Repository, 'location'>): void {
  // Not the folder: a writer that was running may have created it again, without `HEAD`.
  if (location === undefined || statSync(`${location.commonDir}/HEAD`, { throwIfNoEntry: false }) !== undefined) return;
  throw repositoryGone(location.commonDir);
}

/** Replaces an error by `repository-not-found` if the repository does not exist any more; else returns it unchanged. */
export function explainGone(repository: Pick<Repository, 'location'>, error: unknown): unknown {
  try {
    assertThere(repository);
    return error;
  } catch (gone) {
    return gone;
  }
}

/** @param path of it, or of a part without which it is none */
export function repositoryGone(path: string): UwfError {
  return new UwfError(`the repository ${path} is there no more`, {
    code: 'repository-not-found',
    kind: 'environment',
    hint: 'it was removed or moved, or its disk is away; start the command again where the repository is now',
    facts: { path },
  });
}
