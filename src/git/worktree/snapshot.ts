import { copyFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { inPlaceOf, orElse } from '../../or-else.ts';
import { isNotThere } from '../format/errors.ts';
import { type GitObject, isObjectId, type ObjectId, parseObjectId } from '../format/object-id.ts';
import { isRefName, parseRefName } from '../format/refs.ts';
import { GitEnded, GitFailed, runGit } from '../process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { readIfThere } from '../repository/git-directory.ts';
import { findOperation, isMadeForThread, type Operation, readMerging } from '../repository/work-trees.ts';
import { objectFolderOf, objectsApart, packLooseObjects, Quarantine, removeKeeps } from '../stores/quarantine.ts';
import { type ObjectReader, readCommit } from '../stores/read.ts';
import { findStats } from '../system/files.ts';
import { describeMissing, missingFiles, type MissingFiles, type Unrecordable } from '../format/paths.ts';
import {
  type ChangedFile,
  changedPaths,
  findChanges,
  type IndexRun,
  plainIndex,
  readCopied,
  requiredFilters,
  runComparing,
} from './find-changes.ts';

export type SnapshotLimits = {
  /** The size of new and changed files together; the largest files beyond it are left out. */
  maxBytes: number;
  /** After this time the snapshot falls back to the tree of `HEAD`; comparing files first may take six times as long. */
  timeoutMs: number;
};

/** The files of a work tree, tracked and untracked but not ignored, as a git tree. */
export type Snapshot = {
  tree: ObjectId;
  /** The commit that is checked out; absent on an unborn branch. */
  commit?: ObjectId;
  /** The commits that were being merged into it, all of whose files are in the tree: in a work tree of a thread only. */
  merging?: readonly ObjectId[];
  /** The operation of git for which commits wait: in a work tree of a thread only. */
  halfDone?: Operation['name'];
  /** The reason why the tree is only that of the commit; absent otherwise. */
  shortfall?: string;
  /** Files that the tree does not contain as they were: a tracked file is there as in the index, another file not at all. */
  missing?: MissingFiles;
  /** Objects that the caller has to write together with the commit that refers to the tree. */
  objects: readonly GitObject[];
  /** The packs with the other objects, by their paths without an ending. */
  packs: readonly string[];
  /** Call it when a ref leads to the tree, or never will: the other objects are protected until then. */
  release: () => void;
};

/** Facts about the files of a snapshot that its tree does not have. */
type InspectedFiles = Pick<Snapshot, 'missing'> & {
  /** Files that uwf copied into the work tree, and that the tree has because they are tracked now; in Latin-1. */
  copied: readonly string[];
};

export type SnapshotOptions = {
  /** The work tree, of the repository or of one linked to it. */
  location: RepositoryLocation;
  env: GitEnvironment;
  limits: SnapshotLimits;
  /** Checks the tree before any of it enters the repository. @throws {SnapshotRefused} to keep it out */
  inspect?: (tree: ObjectId, objects: ObjectReader, about: InspectedFiles) => Promise<void>;
  signal?: AbortSignal;
};

/** The files must not be recorded. */
export class SnapshotRefused extends Error {}

/**
 * Records the files of a work tree without touching its index, its `HEAD` or its stash.
 *
 * Takes a few runs of git, whatever the number of files, on a copy of the user's index, so that only changed files are read.
 * git's filters and line ends apply, as when files are restored. A submodule is recorded with its current commit.
 *
 * Measures sizes before it reads anything. Names the files that cannot be recorded, and records the rest. If nothing is left
 * to record, or time is up, the snapshot falls back to the commit that is checked out, with the reason.
 * @throws the reason, if there is no commit
 * @throws {SnapshotRefused} as `inspect` does
 * @throws the signal's reason when that is aborted
 */
export async function takeSnapshot(repository: Repository, options: SnapshotOptions): Promise<Snapshot> {
  const commit = await readHead(repository, options.location);
  const fallBackTo = async (head: ObjectId, shortfall: string): Promise<Snapshot> => {
    const { tree } = await readCommit(repository.objects, head);
    return { tree, commit: head, shortfall, objects: [], packs: [], release: () => {} };
  };
  let recorded: Snapshot;
  try {
    // A git that was ended by a signal says nothing about the files.
    recorded = await record(repository, options).catch((error: unknown) => {
      if (error instanceof GitEnded) return record(repository, options);
      throw error;
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    if (commit === undefined || error instanceof SnapshotRefused) throw error;
    return fallBackTo(commit, messageOf(error));
  }
  if (commit === undefined) return recorded;
  const { missing, tree } = recorded;
  if (missing === undefined || tree !== (await readCommit(repository.objects, commit)).tree)
    return { ...recorded, commit, ...(await unfinishedIn(repository, options.location, commit)) };
  recorded.release();
  return fallBackTo(commit, describeMissing(missing));
}

/** What git has not finished in a work tree of a thread. In one of a person it is theirs to finish. */
async function unfinishedIn(
  { objects }: Repository,
  location: RepositoryLocation,
  commit: ObjectId,
): Promise<Pick<Snapshot, 'merging' | 'halfDone'>> {
  if (!isMadeForThread(location)) return {};
  const operation = findOperation(location);
  // An agent can write anything there.
  const found = readMerging(location).map((id) =>
    readCommit(objects, id).then(
      () => [id],
      () => [],
    ),
  );
  const merging = (await Promise.all(found)).flat().filter((id) => id !== commit);
  return { ...(merging.length > 0 && { merging }), ...(operation?.isHalfDone && { halfDone: operation.name }) };
}

async function record(
  { stateDir, objects: store }: Repository,
  { location, env, limits, inspect, signal }: SnapshotOptions,
): Promise<Snapshot> {
  if (stateDir === undefined) throw new Error('the repository is not on a disk');
  if (location.workTree === undefined) throw new Error('the repository has no work tree');
  const quarantine = new Quarantine(snapshotFolder(stateDir), objectFolderOf(location, env));
  const stop = new AbortController();
  const watch = watchLimits(quarantine, limits, stop);
  try {
    const index = join(quarantine.path, 'index');
    copyIndex(location, index);
    const run: IndexRun = {
      location,
      env,
      settings: [plainIndex],
      variables: { ...quarantine.variables(env), GIT_INDEX_FILE: index },
      signal: signal ? AbortSignal.any([stop.signal, signal]) : stop.signal,
    };
    const copies = readCopied(location);
    const changes = await findChanges(run, location.workTree, copies);
    const { excluded, partly, nested, removed } = changes;
    const choosing = (): ReturnType<typeof chooseFitting> => chooseFitting(run, changes.files, limits.maxBytes);
    const { fitting, beyond } = await watch.whileComparing(choosing);
    const failed = await updateIndex(run, [...fitting.map(({ path }) => path), ...nested], removed);
    const printed = await runComparing(run, ['write-tree']);
    const tree = parseObjectId(printed.toString('latin1').trim());
    // Content that a filter or a line end changed is in loose objects of any size.
    const objects = await packLooseObjects({ ...run, settings: [...run.settings, streamed] }, quarantine);
    if (quarantine.bytes > mostWritten(limits)) throw tooMuch(limits);
    const missing = missingFiles([...excluded, ...beyond, ...failed, ...partly]);
    if (inspect) {
      const seen = objectsApart(store, location, { ...env, ...run.variables });
      try {
        await inspect(tree, seen, { copied: await trackedAmong(run, copies), ...(missing && { missing }) });
      } finally {
        await seen.close();
      }
    }
    const keeps = quarantine.takeOver();
    const packs = keeps.map(({ path }) => path.slice(0, -'.keep'.length));
    return { tree, ...(missing && { missing }), objects, packs, release: () => removeKeeps(keeps) };
  } finally {
    watch.end();
    quarantine.remove();
  }
}

/**
 * Copies the index of a work tree; a missing one is an empty one. git treats a file as unchanged if its times match the index and
 * are older than the index file. The copy must not be newer than the original, or a change at the same moment would not be seen.
 * Source: git's Documentation/technical/racy-git.txt.
 */
function copyIndex({ gitDir }: RepositoryLocation, to: string): void {
  const from = join(gitDir, 'index');
  // The time first: if git replaces the index in between, the copy is older than its content.
  const stats = findStats(from);
  if (stats === undefined) return;
  orElse(() => copyFileSync(from, to), undefined, isNotThere);
  const seconds = Math.floor(stats.mtimeMs / 1000);
  orElse(() => utimesSync(to, seconds, seconds), undefined, isNotThere);
}

async function trackedAmong(run: IndexRun, copies: ReadonlySet<string>): Promise<string[]> {
  if (copies.size === 0) return [];
  const listed = (await runGit({ ...run, args: ['ls-files', '-z', '--cached'] })).toString('latin1').split('\0');
  return listed.filter((path) => copies.has(path));
}

export function snapshotFolder(stateDir: string): string {
  return join(stateDir, 'snapshots');
}

/** How many times the time limit git may compare files whose times have changed, as those of a copied work tree until `git status`. */
const MAX_COMPARING = 6;

type Watch = {
  /** Does work that has a longer limit of its own. Its time does not count. */
  whileComparing: <T>(work: () => Promise<T>) => Promise<T>;
  end: () => void;
};

/** Stops git when it takes too long or writes too much. */
function watchLimits(quarantine: Quarantine, limits: SnapshotLimits, stop: AbortController): Watch {
  let startedMs = performance.now();
  let timeoutMs = limits.timeoutMs;
  const timer = setInterval(() => {
    if (performance.now() - startedMs > timeoutMs) {
      stop.abort(
        new Error(
          `recording the files took longer than ${timeoutMs / 1000} s; run 'git status' once, or raise snapshot.timeoutMs`,
        ),
      );
    } else if (quarantine.bytes > mostWritten(limits)) stop.abort(tooMuch(limits));
  }, 100);
  const whileComparing = async <T>(work: () => Promise<T>): Promise<T> => {
    const elapsedMs = performance.now() - startedMs;
    [startedMs, timeoutMs] = [performance.now(), limits.timeoutMs * MAX_COMPARING];
    try {
      return await work();
    } finally {
      [startedMs, timeoutMs] = [performance.now() - elapsedMs, limits.timeoutMs];
    }
  };
  return { whileComparing, end: () => clearInterval(timer) };
}

/** A bit more than the measured size: filters can enlarge files, and trees take space. */
function mostWritten({ maxBytes }: SnapshotLimits): number {
  return maxBytes * 1.1 + 4 * 1024 * 1024;
}

function tooMuch({ maxBytes }: SnapshotLimits): Error {
  return new Error(`git made more than ${maxBytes} bytes of the files that are new; raise snapshot.maxBytes`);
}

/** What the file `HEAD` says where a reftable has the refs, that one among them. Source: git's reftable.txt, "Layout". */
const STANDS_FOR_NONE = 'refs/heads/.invalid';

/** The commit that is checked out in a work tree; `undefined` on an unborn branch. */
export async function readHead(
  { refs, location }: Repository,
  { gitDir }: RepositoryLocation,
): Promise<ObjectId | undefined> {
  const text = readIfThere(join(gitDir, 'HEAD'))?.trim() ?? '';
  if (isObjectId(text)) return text;
  const name = text.replace(/^ref:\s*/, '');
  if (name === STANDS_FOR_NONE && gitDir === location?.gitDir) return refs.read(parseRefName('HEAD'));
  return isRefName(name) ? refs.read(name) : undefined;
}

/** Comparing more files than this first is faster than adding them. */
const MAX_UNCOMPARED_FILES = 1000;

/**
 * Chooses the files that fit into a snapshot, the smallest first.
 *
 * If they do not all fit, or there are many, git first finds the files that only look changed, as all do after a copy of the
 * repository. It does not read files that are larger than the limit. Comparing 60,000 files takes a fifth of the time of
 * adding them.
 */
async function chooseFitting(
  run: IndexRun,
  files: readonly ChangedFile[],
  maxBytes: number,
): Promise<{ fitting: ChangedFile[]; beyond: Unrecordable[] }> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= maxBytes && files.length <= MAX_UNCOMPARED_FILES) return { fitting: [...files], beyond: [] };
  const tooLarge = files.filter(({ isTracked, bytes }) => isTracked && bytes > maxBytes);
  const changed = await refresh(run, tooLarge);
  const fitting: ChangedFile[] = [];
  const beyond: Unrecordable[] = [];
  let room = maxBytes;
  for (const file of files.toSorted((a, b) => a.bytes - b.bytes)) {
    const { path, bytes, isTracked } = file;
    if (isTracked && bytes <= maxBytes && !changed.has(path)) continue;
    if (bytes <= room) {
      fitting.push(file);
      room -= bytes;
    } else {
      const reason = `has ${bytes} bytes, and what is new more than ${maxBytes} bytes; raise snapshot.maxBytes, or ignore it`;
      beyond.push({ path, reason });
    }
  }
  return { fitting, beyond };
}

/** Compares the tracked files with the index, except some. @returns the paths that differ */
async function refresh(run: IndexRun, except: readonly ChangedFile[]): Promise<Set<string>> {
  const input = Buffer.from(except.map(({ path }) => `${path}\0`).join(''), 'latin1');
  const update = ['update-index', '-z', '--assume-unchanged', '--stdin'];
  await runGit({ ...run, args: update, input });
  const settings = [...run.settings, 'core.safecrlf=false'];
  // git fails if a file differs or cannot be compared.
  await runGit({ ...run, settings, args: ['update-index', '-q', '--refresh'] }).catch(inPlaceOf(GitFailed, undefined));
  return changedPaths(run);
}

/** Makes git stream new files into one pack that it syncs, instead of a file for each. */
const streamed = 'core.bigFileThreshold=1';
/**
 * Records files whose line ends would change. Does not record names that other file systems treat as `.git`, because such
 * trees cannot be fetched.
 */
const rules = ['core.safecrlf=false', 'core.protectNTFS=true', 'core.protectHFS=true'];

type Failure = Unrecordable & { filter?: string };

/** After so many failures the snapshot fails. */
const MAX_FAILURES = 100;

/**
 * Puts files into an index and takes others out. A path on which git fails stays as in the index, and the rest is put in.
 * @param files also folders of repositories; paths in Latin-1, as all here
 * @returns the paths on which git failed
 * @throws {GitFailed} if it fails and names no path
 */
async function updateIndex(
  run: IndexRun,
  files: readonly string[],
  removed: readonly string[],
): Promise<Unrecordable[]> {
  if (removed.length > 0)
    await runGit({ ...run, args: ['update-index', '--force-remove', '-z', '--stdin'], input: listed(removed) });
  const left = new Set(files);
  const failed: Unrecordable[] = [];
  const silenced = new Set<string>();
  while (left.size > 0) {
    const { said, hasFailed } = await tryUpdate(run, left, silenced);
    const found = hasFailed ? await blame(run, said, left) : ignoredAmong(said, left);
    if ((hasFailed && found.length === 0) || failed.length > MAX_FAILURES) throw new GitFailed(['update-index'], said);
    for (const { path, reason, filter } of found) {
      if (filter !== undefined) silenced.add(filter);
      if (left.delete(path)) failed.push({ path, reason });
    }
    if (!hasFailed) break;
  }
  return failed;
}

/** git writes nothing if it fails. */
async function tryUpdate(
  run: IndexRun,
  paths: Iterable<string>,
  silenced: Iterable<string>,
): Promise<{ said: string; hasFailed: boolean }> {
  const unset: string[] = [];
  for (const name of silenced) unset.push(...(await silence(run, name)));
  const settings = [...run.settings, streamed, ...rules, ...unset];
  const args = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'];
  const lines: string[] = [];
  try {
    await runGit({ ...run, settings, args, input: listed(paths), onProgress: (line) => lines.push(line) });
    return { said: lines.join('\n'), hasFailed: false };
  } catch (error) {
    if (error instanceof GitFailed) return { said: error.said, hasFailed: true };
    throw error;
  }
}

function listed(paths: Iterable<string>): Buffer {
  return Buffer.from([...paths].map((path) => `${path}\0`).join(''), 'latin1');
}

/**
 * Turns off a filter that fails. No file with the filter is added, but git compares files that are as old as the index when
 * it writes the index. A file that appears only now is recorded as empty, or, with a long-running filter, as it is.
 */
async function silence(run: IndexRun, name: string): Promise<string[]> {
  const isLasting = await runGit({ ...run, args: ['config', '--get', `filter.${name}.process`] }).then(
    () => true,
    () => false,
  );
  const instead = isLasting ? ['process=', 'required=false'] : ['clean=cat >/dev/null'];
  return instead.map((pair) => `filter.${name}.${pair}`);
}

/** The files whose names no tree may have: git passes them over. */
function ignoredAmong(said: string, files: ReadonlySet<string>): Failure[] {
  const names = new Set(said.split('\n').flatMap((line) => /^Ignoring path (.+)$/.exec(line)?.[1] ?? []));
  const reason = "cannot be added: an invalid path, which some file systems take for '.git'; rename it, or ignore it";
  return [...files].filter((path) => names.has(asSaid(path))).map((path) => ({ path, reason }));
}

/** Finds the files on which git failed, by the names in its stderr. */
async function blame(run: IndexRun, said: string, files: ReadonlySet<string>): Promise<Failure[]> {
  const [, filter] = /^fatal: .*: clean filter '(.+)' failed$/m.exec(said) ?? [];
  if (filter !== undefined) return withFilters(run, files, [filter]);
  const [, unprocessed] = /^fatal: Unable to process path (.+)\n$/ms.exec(said) ?? [];
  const lines = said.split('\n').filter((line) => /^(?:error|fatal): /.test(line));
  const found = [...files].flatMap((path) => {
    const name = asSaid(path);
    const own = name === unprocessed ? lines[0] : undefined;
    const line = own ?? lines.find((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`));
    return line === undefined ? [] : [{ path, reason: `cannot be added: ${line.replace(/^\w+: /, '')}` }];
  });
  // git does not name the file if a long-running filter ends.
  return found.length > 0 ? found : withFilters(run, files, await requiredFilters(run));
}

/** A path as it stands in stderr, which was decoded as UTF-8. */
function asSaid(path: string): string {
  return Buffer.from(path, 'latin1').toString();
}

/** The given and tracked files whose attribute `filter` is one of the failing filters. */
async function withFilters(run: IndexRun, files: ReadonlySet<string>, filters: readonly string[]): Promise<Failure[]> {
  const tracked = await runGit({ ...run, args: ['ls-files', '-z'] });
  const input = Buffer.concat([listed(files), tracked]);
  const printed = await runGit({ ...run, args: ['check-attr', '-z', '--stdin', 'filter'], input });
  const fields = printed.toString('latin1').split('\0');
  return fields.flatMap((path, at) => {
    const filter = fields[at + 2];
    if (at % 3 !== 0 || filter === undefined || !filters.includes(filter)) return [];
    const reason = `needs the filter '${filter}', which fails; see 'git config --get-regexp filter.${filter}', or ignore it`;
    return [{ path, reason, filter }];
  });
}
