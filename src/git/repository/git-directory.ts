import {
  accessSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { UwfError } from '../../errors.ts';
import { orElse, succeeds } from '../../or-else.ts';
import { isNotThere } from '../format/errors.ts';
import { isObjectId } from '../format/object-id.ts';
import { isDotGit } from '../format/paths.ts';
import type { GitEnvironment, Repository } from '../repository.ts';
import { FileRefused, openFile, READ, readOpened, readRegularFile, whileOpen } from '../system/files.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/** Makes the paths about refs and objects absolute, which git resolves from its working directory. */
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

/** On macOS the flag refuses links anywhere in the path. Source: open(2) there, `O_NOFOLLOW_ANY`. */
const NO_LINK = process.platform === 'darwin' ? 0x2000_0000 : constants.O_NOFOLLOW;
/** How often a file is opened that is replaced at the same moment, as editors do. */
const MAX_TRIES = 3;

/**
 * Reads a file whose path a repository controls: a regular file of limited size inside a folder, and not inside a git folder
 * there, also not that of a submodule.
 *
 * Follows links that stay inside. Reads the file that was checked, even if files and folders are exchanged meanwhile. Reads
 * and reveals nothing outside.
 * @param root the folder that has to contain it: the top of the work tree
 * @throws {FileRefused} if it is elsewhere, not a regular file, or larger
 * File system errors come through as they are, ENOENT among them.
 */
export function readFileInside(root: string, path: string, maxBytes: number): Buffer {
  for (let tries = 1; ; tries += 1) {
    const real = placeInside(root, path);
    const content = whileOpen(openFile(real, READ | NO_LINK), (descriptor) =>
      isAt(descriptor, real) ? readOpened(descriptor, path, maxBytes) : undefined,
    );
    if (content !== undefined) return content;
    if (tries === MAX_TRIES) throw new FileRefused(path, 'changes its place', 'repeat it when nothing changes it');
  }
}

/**
 * Resolves links in a path, of which only the upper folders need to exist.
 * @throws {FileRefused} if the target is outside of `root`, or in a git folder
 */
export function placeInside(root: string, path: string): string {
  const top = realpathSync(root);
  const real = realPathOfAny(path);
  const inside = relative(top, real);
  const parts = inside.split(sep);
  if (parts[0] === '..' || isAbsolute(inside)) {
    const hint = 'put the file itself there; links that lead out are not followed';
    throw new FileRefused(path, `lies outside ${root}`, hint);
  }
  const places = parts.map((_, depth) => join(top, ...parts.slice(0, depth + 1)));
  if (parts.some(isDotGit) || places.some((place) => kindOfPath(place) === 'folder' && isGitDirectory(place))) {
    throw new FileRefused(path, 'lies in a git folder', 'put the file where git would track it');
  }
  return real;
}

function realPathOfAny(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isNotThere(error) || dirname(path) === path) throw error;
    return join(realPathOfAny(dirname(path)), basename(path));
  }
}

/** Tells whether an open file is the one at a path without links, because a folder above it can be exchanged for a link. */
function isAt(descriptor: number, real: string): boolean {
  try {
    // Linux reports the path of an open file.
    return readlinkSync(`/proc/self/fd/${descriptor}`) === real;
  } catch {
    const [opened, there] = [fstatSync(descriptor, { bigint: true }), lstatSync(real, { bigint: true })];
    return opened.ino === there.ino && opened.dev === there.dev && realpathSync(real) === real;
  }
}
