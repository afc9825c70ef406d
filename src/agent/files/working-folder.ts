import { constants, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isNotThere } from '../../git/format/errors.ts';
import { isDotGit } from '../../git/format/paths.ts';
import { type GitPlace, runGit } from '../../git/process/run-git.ts';
import type { GitEnvironment, RepositoryLocation } from '../../git/repository.ts';
import { discoverRepository } from '../../git/repository/discover.ts';
import { forSearchIn, realPath } from '../../git/repository/git-directory.ts';
import { isWithin } from '../../git/system/files.ts';
import { mapValues } from '../../json.ts';
import { orElse } from '../../or-else.ts';
import { WorkingFolderMissing } from '../processes/start-program.ts';

/** As many symbolic links as Linux itself follows (path_resolution(7)). */
const MAX_LINKS = 40;

/** The folder that an agent works in, and the files in it, links followed. */
export class WorkingFolder {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** What is kept from the agent there. */
  readonly guard: GuardedPaths;

  protected constructor(path: string, guard: GuardedPaths) {
    this.path = path;
    this.guard = guard;
  }

  static async at(path: string, env: GitEnvironment): Promise<WorkingFolder> {
    const real = await realpath(path).catch((cause: unknown) => {
      throw new WorkingFolderMissing(path, cause);
    });
    return new WorkingFolder(real, await GuardedPaths.at(real, env));
  }

  /**
   * Where a path leads: absolute, links followed as far as they exist, also those that lead to nothing yet.
   *
   * A relative path starts at the working folder.
   */
  async resolve(path: string): Promise<string> {
    return realPathOf(resolve(this.path, path));
  }
}

async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isNotThere(error) || links > MAX_LINKS) throw error;
  }
  // A link to what is not there yet: writing to it would make a file where it points to.
  const target = await readlink(path).catch(() => undefined);
  if (target !== undefined) {
    const next = isAbsolute(target) ? target : resolve(await realPathOf(dirname(path), links + 1), target);
    return realPathOf(next, links + 1);
  }
  const parent = dirname(path);
  return parent === path ? path : join(await realPathOf(parent, links), basename(path));
}

export type Access = 'read' | 'write';

/** `asked`: only with the word of a person. `refused`: never through uwf. */
export type Guard = 'free' | 'asked' | 'refused';

/** Folders whose files run with the next command of uwf, or of git. */
const ASKED_NAMES = new Set(['.uwf', '.husky', '.githooks']);
/** Files by which a git folder's hard links are known: they hold programs, credentials, or what git believes. */
const KEY_FILES = ['HEAD', 'config', 'config.worktree', 'hooks', 'info', 'packed-refs', 'uwf/config.yaml'];

/**
 * What belongs to git and to uwf, wherever an agent works: what it may not touch through uwf, and what it has to ask for.
 *
 * - refused: every name that a file system treats as `.git`, and what is in it; a repository's git folder and common folder,
 *   wherever they lie; every folder that git would take for a repository, or would after the write; uwf's folders of the
 *   user, but for the thread's own work tree; git's files of passwords
 * - asked for to write: `.uwf`, folders of hooks (`core.hooksPath`, `.husky`, `.githooks`)
 * - asked for to read and to write: files that git reads as configuration, which may lie in the work tree
 *
 * Paths are real ones (links followed), of what is there or of what would be made. Each look is at the disk as it is now.
 */
export class GuardedPaths {
  readonly #cwd: string;
  readonly #locations: readonly RepositoryLocation[];
  readonly #named: NamedPaths;
  /** The work tree that uwf made for the thread, where the agent works in it. */
  readonly #ownTree: string | undefined;

  private constructor(cwd: string, locations: readonly RepositoryLocation[], named: NamedPaths, workTrees: string[]) {
    const tops = locations.flatMap(({ workTree }) => (workTree === undefined ? [] : [realPath(workTree)]));
    const isMade = (top: string): boolean => workTrees.some((folder) => top !== folder && isWithin(top, folder));
    this.#ownTree = tops.find((top) => isWithin(cwd, top) && isMade(top));
    this.#cwd = cwd;
    this.#locations = locations;
    this.#named = mapValues(named, (paths) => [...new Set(paths.flatMap((path) => [path, realPath(path)]))]);
  }

  /** @param env uwf's own environment: it says which repository is meant, and where the user's files lie */
  static async at(cwd: string, env: GitEnvironment): Promise<GuardedPaths> {
    // Commands of the agent find the repository by the folder, uwf may have been told another.
    // Where there is no repository, names and the look of folders still count.
    const searches = [forSearchIn(env), env].map((variables) => discoverRepository(cwd, variables).catch(() => []));
    const locations = (await Promise.all(searches)).flat();
    const named = await Promise.all(locations.map((location) => findNamedPaths({ location, env })));
    const all = [pathsOfUser(env), ...named];
    const tops = locations.flatMap(({ workTree }) => workTree ?? []);
    return new GuardedPaths(
      realPath(cwd),
      locations,
      {
        hooks: [...all.flatMap(({ hooks }) => hooks), ...tops.map((top) => join(top, '.uwf'))],
        configuration: all.flatMap(({ configuration }) => configuration),
        secret: all.flatMap(({ secret }) => secret),
      },
      workTreesOfUser(env).map(realPath),
    );
  }

  /** What may be done with a real path. */
  guardOf(real: string, access: Access): Guard {
    const top = this.#topOf(real);
    const names = relative(top, real).split(sep);
    if (names.some(isDotGit) || this.#isInGitFolder(real, top) || this.#isSecret(real)) return 'refused';
    if (isAmong(real, this.#named.configuration)) return 'asked';
    if (access === 'read') return 'free';
    return isAmong(real, this.#named.hooks) || names.some((name) => ASKED_NAMES.has(folded(name))) ? 'asked' : 'free';
  }

  /**
   * Opens a file that was judged, where it was when it was judged; for writing it is made, with the folders above it, or
   * emptied.
   * @throws {PathFault} if it is refused, or is by another name (a hard link) a file that is not free; if a link or a folder
   * has been exchanged since
   */
  async open(real: string, access: Access): Promise<FileHandle> {
    if (this.guardOf(real, access) === 'refused') throw pathRefused(real);
    const { O_RDONLY, O_WRONLY, O_CREAT } = constants;
    const isWrite = access === 'write';
    const file = await openUnmoved(real, isWrite ? O_WRONLY | O_CREAT : O_RDONLY, { make: isWrite });
    try {
      const stats = await file.stat();
      if (this.#isLinkedToGuarded(stats)) throw pathRefused(real);
      if (isWrite && stats.isFile()) await file.truncate();
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  #isLinkedToGuarded(stats: Pick<Stats, 'nlink' | 'dev' | 'ino'>): boolean {
    if (stats.nlink < 2) return false;
    const folders = this.#locations.flatMap(({ gitDir, commonDir }) => [gitDir, commonDir]);
    const files = folders.flatMap((folder) => KEY_FILES.map((name) => join(folder, name)));
    return [...files, ...Object.values(this.#named).flat()]
      .flatMap((path) => [path, ...orElse(() => readdirSync(path), []).map((name) => join(path, name))])
      .map((path) => statSync(path, { throwIfNoEntry: false }))
      .some((known) => known?.ino === stats.ino && known.dev === stats.dev);
  }

  /** From where on a path's names count: a work tree may itself have been put among what is git's. */
  #topOf(real: string): string {
    const tops = [...this.#locations.flatMap(({ workTree }) => workTree ?? []), this.#cwd];
    return tops.find((top) => isWithin(real, top)) ?? resolve('/');
  }

  #isSecret(real: string): boolean {
    return isAmong(real, this.#named.secret) && !(this.#ownTree !== undefined && isWithin(real, this.#ownTree));
  }

  #isInGitFolder(real: string, top: string): boolean {
    const own = this.#locations.flatMap(({ gitDir, commonDir }) => [gitDir, commonDir]);
    if (own.some((folder) => isWithin(real, folder) && !isWorkTreeIn(folder, top, this.#locations))) return true;
    for (let folder = dirname(real), child = real; isWithin(folder, top); child = folder, folder = dirname(folder)) {
      if (looksLikeGitFolder(folder, relative(folder, child))) return true;
      if (folder === top) break;
    }
    return looksLikeGitFolder(real, '');
  }
}

function pathRefused(path: string): PathFault {
  return new PathFault('refused', path, 'is a file of git or of uwf');
}

function isWorkTreeIn(folder: string, top: string, locations: readonly RepositoryLocation[]): boolean {
  return isWithin(top, folder) && locations.some(({ workTree }) => workTree === top);
}

/**
 * Tells whether git would take a folder for a repository, if it had `child` as well. A `commondir` stands for what lies
 * elsewhere.
 *
 * Source: `is_git_directory` in git's setup.c. What `HEAD` says is not looked at: that can change.
 */
function looksLikeGitFolder(folder: string, child: string): boolean {
  const has = (name: string): boolean => child.toLowerCase() === name.toLowerCase() || isThere(join(folder, name));
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}

function isThere(path: string): boolean {
  // An error means a name too long, or a folder that cannot be looked into.
  return orElse(() => lstatSync(path, { throwIfNoEntry: false }), undefined) !== undefined;
}

/** Compared as a file system would that does not tell cases apart. */
function isAmong(real: string, paths: readonly string[]): boolean {
  return paths.some((path) => isWithin(folded(real), folded(path)));
}

function folded(path: string): string {
  return path.normalize('NFKC').toLowerCase();
}

/** Paths that mean something to git or to uwf. */
type NamedPaths = {
  /** Folders of hooks. */
  hooks: string[];
  /** Files that git reads as configuration, or would if they were there. */
  configuration: string[];
  /** Files of passwords, and what uwf keeps for the user. */
  secret: string[];
};

/**
 * The paths that are fixed for a user.
 *
 * Source: git-config(1), git-credential-store(1), "FILES"; the XDG Base Directory Specification.
 */
function pathsOfUser(env: GitEnvironment): NamedPaths {
  const { HOME: home, XDG_CONFIG_HOME: xdg } = env;
  const inHome = (...names: string[]): string[] => (home === undefined ? [] : names.map((name) => join(home, name)));
  const users = [...(xdg !== undefined && isAbsolute(xdg) ? [xdg] : []), ...inHome('.config')];
  const states = statesOfUser(env);
  return {
    hooks: [],
    configuration: [...inHome('.gitconfig'), ...users.map((folder) => join(folder, 'git', 'config'))],
    secret: [
      ...inHome('.git-credentials', '.netrc'),
      ...users.map((folder) => join(folder, 'git', 'credentials')),
      ...[...users, ...states].map((folder) => join(folder, 'uwf')),
    ],
  };
}

/** The folders in which uwf makes the work trees of threads, which lie among its folders of the user. */
function workTreesOfUser(env: GitEnvironment): string[] {
  return statesOfUser(env).map((folder) => join(folder, 'uwf', 'worktrees'));
}

function statesOfUser({ HOME: home, XDG_STATE_HOME: state }: GitEnvironment): string[] {
  const inHome = home === undefined ? [] : [join(home, '.local/state')];
  return state !== undefined && isAbsolute(state) ? [state, ...inHome] : inHome;
}

/**
 * Finds the files that git would run, obey or trust in a repository, by its effective configuration; none without git, or
 * where that is broken.
 *
 * Source: git-config(1), `--show-origin`, "Includes", `core.hooksPath`; git-credential-store(1), `--file`.
 */
async function findNamedPaths(git: GitPlace): Promise<NamedPaths> {
  const named: NamedPaths = { hooks: [], configuration: [], secret: [] };
  const top = git.location.workTree ?? git.location.gitDir;
  const meant = (path: string, from: string): string =>
    resolve(from, path.replace(/^~(?=\/|$)/u, git.env['HOME'] ?? '~'));
  for (const { origin, key, value } of await listWithOrigin(git)) {
    const file = origin.startsWith('file:') ? resolve(top, origin.slice('file:'.length)) : undefined;
    if (file !== undefined) named.configuration.push(file);
    if (key === 'core.hookspath') named.hooks.push(meant(value, top));
    if (/^include(?:if\..*)?\.path$/su.test(key)) named.configuration.push(meant(value, dirname(file ?? top)));
    const store = /^credential\..*helper$/su.test(key) ? /--file[= ]\s*(\S+)/u.exec(value)?.[1] : undefined;
    if (store !== undefined) named.secret.push(meant(store, top));
  }
  return named;
}

async function listWithOrigin(git: GitPlace): Promise<{ origin: string; key: string; value: string }[]> {
  const args = ['config', '--list', '--null', '--show-origin', '--includes'];
  const printed = await runGit({ ...git, args }).catch(() => Buffer.from(''));
  const fields = printed.toString('utf8').split('\0');
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => {
    const entry = fields[2 * at + 1] ?? '';
    const [key = '', ...value] = entry.split('\n');
    return { origin: fields[2 * at] ?? '', key, value: value.join('\n') };
  });
}

/** `make`: the folders on the way are made where they are missing. */
type MakeOptions = { make?: boolean };

/** To hold a folder needs no right to list it (Linux; Node has no name for it). */
const O_PATH = process.platform === 'linux' ? 0o10000000 : 0;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** An open folder. The path `at` leads to its entries also after the folder was renamed. */
export type OpenFolder = { handle: FileHandle; at: string };

/**
 * Opens a file by its real path, in the folder that this path named when it was judged, and follows no link.
 *
 * On Linux the folder is held open and the file is reached through it. Elsewhere Node has no way to do that; there a
 * program beside uwf that exchanges folders at the right moment could still win.
 * @param flags beside O_NOFOLLOW and O_NONBLOCK; without O_TRUNC, so that the file can be looked at first
 * @throws {PathFault} if a folder above it has been exchanged
 * @see openat(2), proc(5), `/proc/self/fd`
 */
async function openUnmoved(real: string, flags: number, options: MakeOptions): Promise<FileHandle> {
  const folder = await openFolder(dirname(real), options);
  try {
    // Not to wait for the writer of a pipe.
    return await open(join(folder.at, basename(real)), flags | O_NOFOLLOW | O_NONBLOCK, 0o666);
  } finally {
    await folder.handle.close();
  }
}

/** Opens a folder by its real path. */
export async function openFolder(real: string, { make = false }: MakeOptions = {}): Promise<OpenFolder> {
  const handle = await open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW).catch(async (error: NodeJS.ErrnoException) => {
    if (make && error.code === 'ENOENT') return undefined;
    const stats = await lstat(real).catch(() => undefined);
    throw stats?.isSymbolicLink() ? pathMoved(real) : error;
  });
  if (handle === undefined) {
    await makeFolder(real);
    return openFolder(real);
  }
  const held = `/proc/self/fd/${handle.fd}`;
  const told = await readlink(held).catch(() => undefined);
  if ((told ?? (await realpath(real).catch(() => undefined))) === real) return { handle, at: told ? held : real };
  await handle.close();
  throw pathMoved(real);
}

function pathMoved(path: string): PathFault {
  return new PathFault('moved', path, 'leads elsewhere than a moment ago');
}

async function makeFolder(real: string): Promise<void> {
  const parent = await openFolder(dirname(real), { make: true });
  try {
    await mkdir(join(parent.at, basename(real))).catch((error: NodeJS.ErrnoException) => {
      // Another call may have made it; what it is, opening it tells.
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await parent.handle.close();
  }
}

/** A path that an agent cannot use through uwf. The message names it. */
export class PathFault extends Error {
  /** `moved`: it leads elsewhere than when it was judged, as a link or another folder has replaced a part of it. */
  readonly kind: 'refused' | 'moved';
  /** What is wrong, as the end of a sentence about the path. */
  readonly reason: string;

  constructor(kind: PathFault['kind'], path: string, reason: string) {
    super(`'${path}' ${reason}`);
    this.kind = kind;
    this.reason = reason;
  }
}
