import { copyFileSync, utimesSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PackKeep } from '../disk/pack-keep.ts';
import type { GitEnvironment } from '../git-directory.ts';
import { readIfThere } from '../git-directory.ts';
import { errnoOf } from '../object-errors.ts';
import { isObjectId, parseObjectId, type GitObject, type ObjectId } from '../object-id.ts';
import { readCommit } from '../read.ts';
import { isRefName } from '../ref-name.ts';
import type { Repository, RepositoryLocation } from '../repository.ts';
import { Quarantine } from './quarantine.ts';
import { runGit } from './run-git.ts';

/** What a snapshot may cost before it comes down to what `HEAD` has. */
export type SnapshotLimits = {
  /** How much may be new, compressed. */
  maxBytes: number;
  timeoutMs: number;
};

/** The files of a work tree, tracked and untracked but not ignored, as a git tree. */
export type Snapshot = {
  tree: ObjectId;
  /** The commit that is checked out; absent on an unborn branch. */
  commit?: ObjectId;
  /** Why the tree is only that of the commit; absent where it holds the files as they were. */
  shortfall?: string;
  /** Objects that whoever refers to the tree has to write along with what refers to it. */
  objects: readonly GitObject[];
  /** To be called when a ref leads to the tree, or never will: guards the other objects until then. */
  release: () => void;
};

export type SnapshotOptions = {
  /** The work tree, of the repository or of one linked to it. */
  location: RepositoryLocation;
  env: GitEnvironment;
  limits: SnapshotLimits;
  signal?: AbortSignal;
};

/** New files are streamed into one pack that git syncs, instead of into a file each. */
const streamed = ['-c', 'core.bigFileThreshold=1'];
/** What git must neither ask for nor write beside the index it is given. */
const plainIndex = ['-c', 'core.fsmonitor=false', '-c', 'core.splitIndex=false', '-c', 'advice.addEmbeddedRepo=false'];

/**
 * Records the files of a work tree without touching its index, its `HEAD` or its stash.
 *
 * Two runs of git, whatever the number of files: they work on a copy of the user's index, so that only what has changed
 * since is read. Files come through git's own filters and line ends, and leave through them. Of a submodule the commit
 * is recorded that it is at.
 *
 * What cannot be done within the limits comes down to the commit that is checked out, with the reason.
 * @returns `undefined` where there is not even that
 * @throws the signal's reason when that is aborted
 */
export async function takeSnapshot(repository: Repository, options: SnapshotOptions): Promise<Snapshot | undefined> {
  const commit = await readHead(repository, options.location);
  try {
    return { ...(await record(repository, options)), ...(commit !== undefined && { commit }) };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (commit === undefined) return undefined;
    const { tree } = await readCommit(repository.objects, commit);
    const shortfall = error instanceof Error ? error.message : String(error);
    return { tree, commit, shortfall, objects: [], release: () => {} };
  }
}

async function record(
  { stateDir }: Repository,
  { location, env, limits, signal }: SnapshotOptions,
): Promise<Pick<Snapshot, 'tree' | 'objects' | 'release'>> {
  if (stateDir === undefined) throw new Error('the repository is not on a disk');
  const quarantine = new Quarantine(snapshotFolder(stateDir), objectFolder(location, env));
  const stop = new AbortController();
  const watch = watchLimits(quarantine, limits, stop);
  try {
    const index = join(quarantine.path, 'index');
    copyIndex(join(location.gitDir, 'index'), index);
    const run = {
      location,
      env,
      variables: { ...quarantine.variables(env), GIT_INDEX_FILE: index },
      signal: signal ? AbortSignal.any([stop.signal, signal]) : stop.signal,
    };
    await runGit({ ...run, args: [...streamed, ...plainIndex, 'add', '--all', '--', ':/'] });
    const printed = await runGit({ ...run, args: [...plainIndex, 'write-tree'] });
    if (quarantine.packBytes > limits.maxBytes) throw tooLarge(limits);
    const tree = parseObjectId(printed.toString('latin1').trim());
    const objects = quarantine.looseObjects();
    const keeps = quarantine.takeOver();
    return { tree, objects, release: () => release(keeps) };
  } finally {
    clearInterval(watch);
    quarantine.remove();
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
    } else if (quarantine.packBytes > limits.maxBytes) stop.abort(tooLarge(limits));
  }, 50);
}

function tooLarge({ maxBytes }: SnapshotLimits): Error {
  return new Error(`the files that are new have more than ${maxBytes} bytes`);
}

/** The commit that is checked out in a work tree; `undefined` on an unborn branch. */
async function readHead({ refs }: Repository, { gitDir }: RepositoryLocation): Promise<ObjectId | undefined> {
  const text = readIfThere(join(gitDir, 'HEAD'))?.trim() ?? '';
  if (isObjectId(text)) return text;
  const name = text.replace(/^ref:\s*/, '');
  return isRefName(name) ? refs.read(name) : undefined;
}
