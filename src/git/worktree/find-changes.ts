import { accessSync, constants, type Dirent, lstatSync, readdirSync, readFileSync, rmSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { orElse } from '../../or-else.ts';
import { errnoOf, isNotThere } from '../format/errors.ts';
import { GitFailed, type GitRun, runGit } from '../process/run-git.ts';
import type { RepositoryLocation } from '../repository.ts';
import { discoverRepository } from '../repository/discover.ts';
import { withoutPlaces } from '../repository/git-directory.ts';
import { ownPrograms } from '../repository/own-programs.ts';
import { makeDerivedFolder, READ, readRegularFile, replaceFile, REWRITE, writeOwnFile } from '../system/files.ts';
import { type Unrecordable, UNRESOLVED } from '../format/paths.ts';

/** A file or link that is new or may have changed; its path is in Latin-1. */
export type ChangedFile = { path: string; bytes: number; isTracked: boolean };

type Changes = {
  files: ChangedFile[];
  /** Repositories in the work tree, of which the commit is recorded. */
  nested: string[];
  /** Tracked files that are gone, or that are behind a link now. */
  removed: string[];
  /** Paths that cannot be recorded. */
  excluded: Unrecordable[];
  /** Paths that are recorded, but not as they are, or with a conflict. */
  partly: Unrecordable[];
};

/** A run of git on a work tree with an index. */
export type IndexRun = Omit<GitRun, 'args'> & { settings: readonly string[] };

/** Keeps git from writing a second file beside the index. */
export const plainIndex = 'core.splitIndex=false';

/**
 * Finds the differences between a work tree and an index, and measures the files. Reads names, times and sizes, but no
 * content.
 * @param top the top of the work tree
 * @param copies files that uwf copied into it, which are not recorded as long as they are untracked; paths in Latin-1
 */
export async function findChanges(run: IndexRun, top: string, copies: ReadonlySet<string>): Promise<Changes> {
  const listing = ['ls-files', '-z', '-t', '-s', '-c', '-o', '--exclude-standard'];
  const [{ others, submodules, unmerged, real, unlisted }, tracked] = await Promise.all([
    runGit({ ...run, args: listing }).then((listed) => sortPaths(top, listed)),
    changedPaths(run),
  ]);
  const changes: Changes = {
    files: [],
    nested: [],
    removed: [],
    excluded: [],
    partly: unresolvedAmong(run, top, unmerged),
  };
  for (const path of tracked) {
    if (real.has(path.slice(0, path.lastIndexOf('/') + 1))) addFile(changes, top, path, true);
    else changes.removed.push(path);
  }
  for (const path of others) {
    if (copies.has(path)) continue;
    if (path.endsWith('/')) await addNested(changes, run, top, path);
    else if (!tracked.has(path)) addFile(changes, top, path, false);
  }
  for (const path of await withoutIgnored(run, unlisted)) if (!tracked.has(path)) addFile(changes, top, path, false);
  changes.partly.push(...(await changedSubmodules(run, top, submodules)));
  return changes;
}

/** The files of an index that wait for a merge. One that uwf has marked is resolved once the file has no marks. */
function unresolvedAmong({ location }: IndexRun, top: string, paths: readonly string[]): Unrecordable[] {
  const marked = paths.length === 0 ? new Set<string>() : readMarked(location);
  const left = paths.filter((path) => !marked.has(path) || hasMarks(top, path));
  return left.map((path) => ({ path, reason: UNRESOLVED }));
}

const SLASH = 0x2f;
const TAB = 0x09;
const HEAD_OF_SUBMODULE = 'H 160000';

type SortedPaths = { others: string[]; submodules: string[]; unmerged: string[] };

/**
 * Untracked paths, submodules and paths with conflicts among the lines of `git ls-files`, and what git does not list in their
 * folders. Nearly all lines are of files whose folder is that of the line before, so no texts are made of them.
 */
function sortPaths(top: string, listed: Buffer): SortedPaths & FolderContent {
  const others: string[] = [];
  const submodules: string[] = [];
  const unmerged = new Set<string>();
  const folders = new Set(['']);
  let folder = '';
  for (let at = 0, end = 0; at < listed.length; at = end + 1) {
    end = listed.indexOf(0, at);
    const tag = listed.toString('latin1', at, at + 2);
    const isOther = tag === '? ';
    const start = isOther ? at + 2 : listed.indexOf(TAB, at) + 1;
    const isSubmodule = !isOther && listed.toString('latin1', at, at + HEAD_OF_SUBMODULE.length) === HEAD_OF_SUBMODULE;
    if (isOther || isSubmodule) (isOther ? others : submodules).push(listed.toString('latin1', start, end));
    // Up to three times.
    if (tag === 'M ') unmerged.add(listed.toString('latin1', start, end));
    // A folder is listed with a slash at its end.
    const slash = listed.lastIndexOf(SLASH, end - 2);
    const own = slash < start ? '' : listed.toString('latin1', start, slash + 1);
    if (own === folder) continue;
    folder = own;
    for (let to = own.length - 1; to > 0; to = own.lastIndexOf('/', to - 1)) {
      const parent = own.slice(0, to + 1);
      if (folders.has(parent)) break;
      folders.add(parent);
    }
  }
  const known = new Set([...folders, ...others, ...submodules.map((path) => `${path}/`)]);
  return { others, submodules, unmerged: [...unmerged], ...lookIntoFolders(top, folders, known) };
}

/** Paths of tracked files that differ from the index, or may, by times and sizes. */
export async function changedPaths(run: IndexRun): Promise<Set<string>> {
  const listing = ['diff-files', '-z', '--raw', '--no-renames', '--ignore-submodules=dirty'];
  const lines = (await runComparing(run, listing)).toString('latin1').split('\0').slice(0, -1);
  return new Set(lines.filter((_, at) => at % 2 === 1));
}

/**
 * Runs a git command that can compare files that are as old as the index. If a required filter fails at that, runs it again
 * without filters: a file then counts as different, which does not change the content of the index.
 */
export async function runComparing(run: IndexRun, args: readonly string[]): Promise<Buffer> {
  return (await runWithoutFailing(run, args, 'clean')).printed;
}

/**
 * Runs git, and if it fails, runs it again without the required filters.
 * @param use whether filters clean or smudge
 * @returns the filters that were turned off
 */
export async function runWithoutFailing(
  run: IndexRun,
  args: readonly string[],
  use: 'clean' | 'smudge',
): Promise<{ printed: Buffer; filters: string[] }> {
  try {
    return { printed: await runGit({ ...run, args }), filters: [] };
  } catch (error) {
    const filters = error instanceof GitFailed ? await requiredFilters(run) : [];
    if (filters.length === 0) throw error;
    const unset = filters.flatMap((name) => turnedOff(`filter.${name}`, use));
    return { printed: await runGit({ ...run, settings: [...run.settings, ...unset], args }), filters };
  }
}

function turnedOff(filter: string, use: 'clean' | 'smudge'): string[] {
  return ['process=', `${use}=`, 'required=false'].map((to) => `${filter}.${to}`);
}

export async function requiredFilters(run: IndexRun): Promise<string[]> {
  const args = ['config', '-z', '--type=bool', '--get-regexp', String.raw`^filter\..*\.required$`];
  const pairs = await listOf(run, args).catch(() => []);
  return pairs.flatMap((pair) => /^filter\.(.*)\.required\ntrue$/s.exec(pair)?.[1] ?? []);
}

function addFile(changes: Changes, top: string, path: string, isTracked: boolean): void {
  const measured = measureFile(top, path);
  if (typeof measured === 'string') changes.excluded.push({ path, reason: measured });
  else if (measured !== undefined) changes.files.push({ path, bytes: measured, isTracked });
  else if (isTracked) changes.removed.push(path);
}

/** A repository inside the work tree, which git records as a submodule if it has a commit. */
async function addNested(changes: Changes, { env }: IndexRun, top: string, path: string): Promise<void> {
  let commit = '';
  try {
    const folder = join(top, Buffer.from(path, 'latin1').toString());
    const location = await discoverRepository(folder, withoutPlaces(env));
    commit = (await runGit({ location, env, args: ['rev-parse', '--verify', '-q', 'HEAD'] })).toString();
  } catch {
    // It has no commit or is damaged: git cannot record it either.
  }
  const own = 'is a repository of its own';
  if (commit === '') {
    changes.excluded.push({ path: path.slice(0, -1), reason: `${own} without a commit; commit in it, or ignore it` });
  } else {
    const reason = `${own}: its commit ${commit.slice(0, 12)} is named and its files are not recorded; make it a submodule, or ignore it`;
    changes.partly.push({ path, reason });
    changes.nested.push(path.slice(0, -1));
  }
}

/**
 * Submodules with uncommitted changes, and files in the folders of those that are not checked out, which git does not list. git
 * runs in each submodule, without the filters of its own configuration, to which the user has not agreed.
 */
async function changedSubmodules(
  { env, signal }: IndexRun,
  top: string,
  paths: readonly string[],
): Promise<Unrecordable[]> {
  const changed: Unrecordable[] = [];
  for (const path of paths) {
    const folder = join(top, Buffer.from(path, 'latin1').toString());
    if (measureFile(top, `${path}/.git`) === undefined) {
      const hasFiles = orElse(() => readdirSync(folder).length > 0, false);
      const reason = 'is a submodule that is not checked out, and the files in its folder are not recorded; move them';
      if (hasFiles) changed.push({ path, reason });
      continue;
    }
    const location = await discoverRepository(folder, withoutPlaces(env));
    const filters = ownPrograms(location, env).filter(({ use }) => use === 'files');
    const unset = filters.flatMap(({ name }) => turnedOff(name.slice(0, name.lastIndexOf('.')), 'clean'));
    const args = ['status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=dirty'];
    const run = { location, env: withoutPlaces(env), signal, settings: [plainIndex, ...unset] };
    if ((await listOf(run, args)).length === 0) continue;
    const reason = 'is a submodule with changes that are not recorded, only its commit is; commit them there';
    changed.push({ path, reason });
  }
  return changed;
}

async function withoutIgnored(run: IndexRun, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const input = Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');
  // git fails if no path is ignored.
  const args = ['check-ignore', '-z', '--stdin'];
  const ignored = await runGit({ ...run, args, input }).then(
    (printed) => new Set(printed.toString('latin1').split('\0')),
    () => new Set<string>(),
  );
  return paths.filter((path) => !ignored.has(path));
}

async function listOf(run: IndexRun, args: readonly string[]): Promise<string[]> {
  const printed = await runGit({ ...run, args });
  return printed.toString('latin1').split('\0').slice(0, -1);
}

const SPECIAL = 'is no file, link or folder but a socket, a pipe or a device; ignore it';

/**
 * Returns the size of a file, without opening it.
 * @param path below `top`, in Latin-1
 * @returns `undefined` if it does not exist; a text if it cannot be recorded, with the reason and a remedy
 */
function measureFile(top: string, path: string): number | string | undefined {
  const file = pathAt(top, path);
  try {
    const stats = lstatSync(file);
    if (isSpecial(stats)) return SPECIAL;
    if (!stats.isSymbolicLink()) accessSync(file, constants.R_OK);
    return stats.isFile() ? stats.size : 0;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    return `cannot be read (${errnoOf(error) ?? 'for an unknown reason'}); change who may read it, or ignore it`;
  }
}

/** Tells whether a file has the marks that git writes around the sides of a conflict. */
function hasMarks(top: string, path: string): boolean {
  if (typeof measureFile(top, path) !== 'number') return false;
  const text = orElse(() => readFileSync(pathAt(top, path), 'latin1'), '');
  return /^<{7,} /m.test(text) && /^>{7,} /m.test(text);
}

/** Entries of folders that git does not list. */
type FolderContent = {
  /** Existing folders that are no links: a path behind a link is not in the work tree. */
  real: Set<string>;
  /** Sockets, pipes, devices, and folders that cannot be read. */
  unlisted: string[];
};

/**
 * Searches folders for entries that git does not list.
 * @param folders relative to `top`, in Latin-1, each with a slash at its end, except the top itself, which is ''; with all
 * parents
 * @param known folders that git has listed
 */
function lookIntoFolders(top: string, folders: Iterable<string>, known: ReadonlySet<string>): FolderContent {
  const real = new Set(['']);
  const unlisted: string[] = [];
  // Parents come first.
  for (const folder of [...folders].toSorted()) {
    if (!real.has(folder)) continue;
    // An error means that it is gone, no folder any more, or reported for the tracked files below it.
    const read = (): Dirent[] => readdirSync(pathAt(top, folder), { encoding: 'latin1', withFileTypes: true });
    for (const entry of orElse(read, [])) {
      const path = folder + entry.name;
      if (isSpecial(entry)) unlisted.push(path);
      if (!entry.isDirectory()) continue;
      real.add(`${path}/`);
      const isUnknown = entry.name !== '.git' && !known.has(`${path}/`);
      if (isUnknown && typeof measureFile(top, path) === 'string') unlisted.push(path);
    }
  }
  return { real, unlisted };
}

function isSpecial(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): boolean {
  return !entry.isFile() && !entry.isDirectory() && !entry.isSymbolicLink();
}

function pathAt(top: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);
}

/** A file of the main work tree that names ignored files to copy, with the patterns of a `.gitignore`. */
export const INCLUDE_FILE = '.worktreeinclude';

type Place = Pick<RepositoryLocation, 'gitDir'>;

const MAX_BYTES = 256 * 1024 * 1024;
const NONE = Buffer.alloc(0);

/**
 * Notes which ignored files of another work tree were copied into this one; paths in Latin-1. A snapshot never records them,
 * whatever is ignored later. File system errors come through as they are.
 */
export function noteCopied(location: Place, paths: readonly string[]): void {
  notePaths(location, 'copied', paths);
}

/** The files that were copied into a work tree; paths in Latin-1. */
export function readCopied(location: Place): Set<string> {
  return readPaths(location, 'copied');
}

/**
 * Notes which files of a work tree uwf, and not git, has marked as conflicts; paths in Latin-1. File system errors come through as
 * they are.
 */
export function noteMarked(location: Place, paths: readonly string[]): void {
  notePaths(location, 'marked', paths);
}

function readMarked(location: Place): Set<string> {
  return readPaths(location, 'marked');
}

/** Lets copied files be recorded from now on. File system errors come through as they are. */
export function forgetCopied(location: Place, paths: readonly string[]): void {
  if (paths.length === 0) return;
  const allowed = new Set(paths);
  noteCopied(
    location,
    [...readCopied(location)].filter((path) => !allowed.has(path)),
  );
}

/** In the work tree's own folder of git, which `git worktree remove` removes. */
function noteAt({ gitDir }: Place, name: string): string {
  return join(gitDir, 'uwf', name);
}

function notePaths(location: Place, name: string, paths: readonly string[]): void {
  const file = noteAt(location, name);
  if (paths.length === 0) return rmSync(file, { force: true });
  makeDerivedFolder(dirname(file));
  writeOwnFile(`${file}.tmp`, REWRITE, Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1'));
  replaceFile(`${file}.tmp`, file);
}

function readPaths(location: Place, name: string): Set<string> {
  const noted = orElse(
    () => readRegularFile(noteAt(location, name), MAX_BYTES, READ | constants.O_NOFOLLOW),
    NONE,
    isNotThere,
  );
  return new Set(noted.toString('latin1').split('\0').slice(0, -1));
}

const gitlink = /^160000 (?:commit )?([0-9a-f]+)[^\t]*\t(.+)$/s;

/**
 * The submodules among what `git ls-files --stage -z` or `git ls-tree -z` lists, with their commits.
 * @returns `path` in Latin-1: each byte is a character
 */
export function gitlinksIn(listed: Buffer): { path: string; commit: string }[] {
  return listed
    .toString('latin1')
    .split('\0')
    .flatMap((line) => {
      const [, commit, path] = gitlink.exec(line) ?? [];
      return commit !== undefined && path !== undefined ? [{ path, commit }] : [];
    });
}
