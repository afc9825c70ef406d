import { copyFileSync, utimesSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DiskObjectStore } from '../disk/disk-object-store.ts';
import type { PackKeep } from '../disk/pack-keep.ts';
import type { GitEnvironment } from '../git-directory.ts';
import { readIfThere } from '../git-directory.ts';
import { errnoOf } from '../object-errors.ts';
import { isObjectId, parseObjectId, type GitObject, type ObjectId } from '../object-id.ts';
import type { ObjectStore } from '../object-store.ts';
import { readCommit, type ObjectReader } from '../read.ts';
import { isRefName } from '../ref-name.ts';
import type { Repository, RepositoryLocation } from '../repository.ts';
import { addChanges, streamed } from './add-changes.ts';
import { chooseFitting } from './choose-fitting.ts';
import { findChanges, runComparing, type IndexRun } from './find-changes.ts';
import { describeMissing, missingFiles, type MissingFiles } from './missing-files.ts';
import { NativeObjectStore } from './native-object-store.ts';
import { Quarantine } from './quarantine.ts';
import { runGit } from './run-git.ts';

/** What a snapshot may cost. */
export type SnapshotLimits = {
  /** How many bytes the files may have that are new or changed; the largest beyond that are left out. */
  maxBytes: number;
  /** After so long the snapshot comes down to what `HEAD` has. */
  timeoutMs: number;
};

/** The files of a work tree, tracked and untracked but not ignored, as a git tree. */
export type Snapshot = {
  tree: ObjectId;
  /** The commit that is checked out; absent on an unborn branch. */
  commit?: ObjectId;
  /** Why the tree is only that of the commit; absent where it holds the files as they were. */
  shortfall?: string;
  /** What the tree does not hold as it was: a tracked file stands there as in the index, another one not at all. */
  missing?: MissingFiles;
  /** Objects that whoever refers to the tree has to write along with what refers to it. */
  objects: readonly GitObject[];
  /** The packs that hold the others, by their paths without an ending. */
  packs: readonly string[];
  /** To be called when a ref leads to the tree, or never will: guards the other objects until then. */
  release: () => void;
};

export type SnapshotOptions = {
  /** The work tree, of the repository or of one linked to it. */
  location: RepositoryLocation;
  env: GitEnvironment;
  limits: SnapshotLimits;
  /**
   * Looks at the tree before the repository has any of it.
   * @throws {SnapshotRefused} if it is not to have it
   */
  inspect?: (tree: ObjectId, objects: ObjectReader) => Promise<void>;
  signal?: AbortSignal;
};

/** Files are not to be recorded. */
export class SnapshotRefused extends Error {}

/** Objects of more than this together are put into a pack, rather than held in memory. */
const MOST_LOOSE_BYTES = 1024 * 1024;

/**
 * Records the files of a work tree without touching its index, its `HEAD` or its stash.
 *
 * A few runs of git, whatever the number of files: they work on a copy of the user's index, so that only what has changed
 * since is read. Files come through git's own filters and line ends, and leave through them. Of a submodule the commit
 * is recorded that it is at.
 *
 * Sizes are measured before anything is read. What cannot be recorded is named and the rest is recorded; where nothing
 * is left to record, or time is up, the snapshot comes down to the commit that is checked out, with the reason.
 * @throws the reason, where there is not even a commit
 * @throws {SnapshotRefused} as `inspect` does
 * @throws the signal's reason when that is aborted
 */
export async function takeSnapshot(repository: Repository, options: SnapshotOptions): Promise<Snapshot> {
  const commit = await readHead(repository, options.location);
  const comeDown = async (head: ObjectId, shortfall: string): Promise<Snapshot> => {
    const { tree } = await readCommit(repository.objects, head);
    return { tree, commit: head, shortfall, objects: [], packs: [], release: () => {} };
  };
  let recorded: Snapshot;
  try {
    recorded = await record(repository, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (commit === undefined || error instanceof SnapshotRefused) throw error;
    return comeDown(commit, error instanceof Error ? error.message : String(error));
  }
  if (commit === undefined) return recorded;
  const { missing, tree } = recorded;
  if (missing === undefined || tree !== (await readCommit(repository.objects, commit)).tree)
    return { ...recorded, commit };
  recorded.release();
  return comeDown(commit, describeMissing(missing));
}

async function record(
  { stateDir, objects: store }: Repository,
  { location, env, limits, inspect, signal }: SnapshotOptions,
): Promise<Snapshot> {
  if (stateDir === undefined) throw new Error('the repository is not on a disk');
  if (location.workTree === undefined) throw new Error('the repository has no work tree');
  const quarantine = new Quarantine(snapshotFolder(stateDir), objectFolder(location, env));
  const stop = new AbortController();
  const watch = watchLimits(quarantine, limits, stop);
  try {
    const index = join(quarantine.path, 'index');
    copyIndex(join(location.gitDir, 'index'), index);
    const run: IndexRun = {
      location,
      env,
      variables: { ...quarantine.variables(env), GIT_INDEX_FILE: index },
      signal: signal ? AbortSignal.any([stop.signal, signal]) : stop.signal,
    };
    const { files, excluded, partly, unmoved, isEmpty } = await findChanges(run, location.workTree);
    const { fitting, beyond } = await chooseFitting(run, files, limits.maxBytes);
    const left = [...excluded, ...beyond];
    const failed = isEmpty ? [] : await addChanges(run, fitting, [...left.map(({ path }) => path), ...unmoved]);
    const printed = await runComparing(run, ['write-tree', ...(store.prefetch ? ['--missing-ok'] : [])]);
    const tree = parseObjectId(printed.toString('latin1').trim());
    const objects = await packLooseObjects(run, quarantine);
    if (quarantine.bytes > mostWritten(limits)) throw tooMuch(limits);
    if (inspect) await inspected(run, store, (seen) => inspect(tree, seen));
    const keeps = quarantine.takeOver();
    const missing = missingFiles([...left, ...failed, ...partly]);
    const packs = keeps.map(({ path }) => path.slice(0, -'.keep'.length));
    return { tree, ...(missing && { missing }), objects, packs, release: () => release(keeps) };
  } finally {
    clearInterval(watch);
    quarantine.remove();
  }
}

/** Content that a filter or a line end changed has files of its own, of any size. */
async function packLooseObjects(run: IndexRun, quarantine: Quarantine): Promise<GitObject[]> {
  const { ids, bytes } = quarantine.looseFiles();
  if (bytes <= MOST_LOOSE_BYTES) return quarantine.looseObjects();
  const args = [...streamed, 'pack-objects', '--quiet', '--window=0', quarantine.packPrefix];
  await runGit({ ...run, args, input: `${ids.join('\n')}\n` });
  return [];
}

/** Has somebody look at the objects that git has written so far, and at those of the repository. */
async function inspected(
  { location, env, variables }: IndexRun,
  store: ObjectStore,
  look: (seen: ObjectReader) => Promise<void>,
): Promise<void> {
  const written =
    store.format === 'sha1'
      ? new DiskObjectStore(location.commonDir, { GIT_OBJECT_DIRECTORY: variables?.['GIT_OBJECT_DIRECTORY'] })
      : new NativeObjectStore(location, { ...env, ...variables }, store.format);
  try {
    await look({ read: async (id, options) => (await written.read(id, options)) ?? store.read(id, options) });
  } finally {
    await written.close();
  }
}

/** Where snapshots are being taken. */
export function snapshotFolder(stateDir: string): string {
  return join(stateDir, 'snapshots');
}

function objectFolder({ commonDir }: RepositoryLocation, env: GitEnvironment): string {
  return env['GIT_OBJECT_DIRECTORY'] || join(commonDir, 'objects');
}

function release(keeps: readonly PackKeep[]): void {
  for (const keep of keeps) keep.remove();
}

/**
 * Copies an index; none is an empty one.
 *
 * git takes a file as unchanged if its times are those of the index and older than the index itself. The copy must not
 * be newer than what it was made of, or a change in the same moment would go unseen.
 * Source: git's Documentation/technical/racy-git.txt.
 */
function copyIndex(from: string, to: string): void {
  try {
    const { mtimeMs } = statSync(from);
    copyFileSync(from, to);
    const seconds = Math.floor(mtimeMs / 1000);
    utimesSync(to, seconds, seconds);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** Stops git when it takes too long or writes too much. */
function watchLimits(quarantine: Quarantine, limits: SnapshotLimits, stop: AbortController): NodeJS.Timeout {
  const startedMs = performance.now();
  return setInterval(() => {
    if (performance.now() - startedMs > limits.timeoutMs) {
      stop.abort(new Error(`recording the files took longer than ${limits.timeoutMs / 1000} s`));
    } else if (quarantine.bytes > mostWritten(limits)) stop.abort(tooMuch(limits));
  }, 100);
}

/** Files were measured before; a filter can make more of them, and compression and trees take a little. */
function mostWritten({ maxBytes }: SnapshotLimits): number {
  return maxBytes * 1.1 + 4 * 1024 * 1024;
}

function tooMuch({ maxBytes }: SnapshotLimits): Error {
  return new Error(`git made more than ${maxBytes} bytes of the files that are new; raise snapshot.maxBytes`);
}

/** The commit that is checked out in a work tree; `undefined` on an unborn branch. */
export async function readHead({ refs }: Repository, { gitDir }: RepositoryLocation): Promise<ObjectId | undefined> {
  const text = readIfThere(join(gitDir, 'HEAD'))?.trim() ?? '';
  if (isObjectId(text)) return text;
  const name = text.replace(/^ref:\s*/, '');
  return isRefName(name) ? refs.read(name) : undefined;
}
