import { copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inPlaceOf } from '../../or-else.ts';
import { asStorageError, errnoOf } from '../format/errors.ts';
import type { ObjectId } from '../format/object-id.ts';
import { GitFailed, type GitPlace, type GitRun, runGit } from '../process/run-git.ts';
import { syncFolder, whileOpen } from '../system/files.ts';
import { fetchRefs } from './fetch-refs.ts';
import {
  asFullDisk,
  explainLimit,
  fullDiskIn,
  lacksAtomicPush,
  littleMemory,
  parsePushResults,
  type RefOutcome,
  towardsRemote,
} from './git-output.ts';
import { formatPackedRefs, type GuestFolder } from './guest-folder.ts';
import { isDone, type PushEdit, type PushRequest, type PushResult, type RemoteRef } from './remote.ts';

/** A command line has room for 2 MiB on Linux, environment and pointers included, and 1 MiB on macOS. */
const MAX_ARGUMENT_BYTES = 800_000;

/** Pushes only these refs, whatever is configured, without the user's hooks, which are about code. */
const settings = ['protocol.version=2', ...littleMemory, 'pack.windowMemory=32m', 'pack.deltaCacheSize=16m'];
const options = ['--porcelain', '--no-verify', '--no-follow-tags', '--no-force-if-includes', '--recurse-submodules=no'];

/** The folder of refs in the guest folder with the expected values of the remote's refs. */
const TRACKED = 'refs/tracked/';

type PushControl = {
  mayAsk: boolean;
  /** Whether `remote` is a name of git's configuration. */
  isConfigured: boolean;
  /** Tells whether a commit is in the repository. */
  has: (id: ObjectId) => Promise<boolean>;
};

/**
 * Pushes edits to a remote, atomically if the remote can, and returns the outcome of each.
 *
 * Deletions go in a push of their own, once the remote has made all else. More than about 5,000 edits do not fit a command line.
 * They go in several pushes, each atomic; the first that fails ends the rest. Deletions of whole folders come last.
 * @param source the repository of the commits, where ancestry is checked
 * @throws {GitFailed} if there was no connection, or it broke before the remote reported the outcome
 * Source: git-push(1).
 */
export async function pushRefs(
  folder: GuestFolder,
  source: GitPlace,
  remote: string,
  request: PushRequest,
  { mayAsk, isConfigured, has }: PushControl,
): Promise<PushResult[]> {
  const { others, folders } =
    isConfigured && request.there !== undefined
      ? takeFolderDeletions(request.edits, request.there)
      : { others: request.edits, folders: [] };
  const { first, last, checks } = await stagesOf(others, folders.length > 0, has);
  const pushes = [
    ...[first, last].flatMap(batches).map((edits) => ({
      edits,
      push: () => pushBatch(folder, source, remote, { ...request, edits }, mayAsk),
    })),
    ...folders.map((deletions) => ({
      edits: deletions.edits,
      push: () => pushDeletions(folder, remote, deletions, request, mayAsk),
    })),
  ];
  const results = new Map<string, PushResult>();
  for (const { edits, push } of pushes) {
    const made = await push();
    for (const [at, edit] of edits.entries()) {
      const result = made[at];
      if (result !== undefined && !(checks.has(edit) && isPassed(result))) results.set(edit.name, result);
    }
    if (made.some(({ outcome }) => !isDone(outcome))) break;
  }
  const left = 'an edit before it could not be made';
  return request.edits.map(({ name }) => results.get(name) ?? undone(name, left));
}

/** Deletes folders of refs, each ref under its expected value. If a folder has got a new ref meanwhile, all refs stay. */
async function pushDeletions(
  folder: GuestFolder,
  remote: string,
  { edits, refspecs }: FolderDeletions,
  { signal, onProgress }: PushRequest,
  mayAsk: boolean,
): Promise<PushResult[]> {
  const expected = edits.flatMap(({ name, expected: id }) =>
    id ? [{ name: `${TRACKED}${name.slice('refs/'.length)}`, id }] : [],
  );
  writeFileSync(join(folder.path, 'packed-refs'), formatPackedRefs(expected));
  // With a lease that names no value, git takes the tracking refs. Source: git-push(1), `--force-with-lease`.
  const lease = ['--prune', '--force-with-lease'];
  const tracking = `remote.${remote}.fetch=+refs/*:${TRACKED}*`;
  const run = { ...folder.run([]), settings: [...settings, tracking], ...towardsRemote(mayAsk), signal, onProgress };
  const outcomes = await runPush(
    run,
    [...lease, '--', remote, ...refspecs],
    (told) => told.size > 0 && [...told.values()].every(({ outcome }) => outcome !== 'unknown'),
  );
  const hasFailed = [...outcomes.values()].some(({ outcome }) => outcome === 'unknown' || !isDone(outcome));
  return edits.map(({ name }) => {
    // git does not report refs that do not exist.
    const outcome = outcomes.get(name) ?? { outcome: 'unchanged' };
    if (outcome.outcome === 'unknown') throw new Error(`git push said nothing about ${name}`);
    if (hasFailed && outcome.outcome === 'unchanged') return undone(name, 'another edit could not be made');
    return { name, ...outcome };
  });
}

async function pushBatch(
  folder: GuestFolder,
  source: GitPlace,
  remote: string,
  { edits, isForward, signal, onProgress }: PushRequest,
  mayAsk: boolean,
): Promise<PushResult[]> {
  const wrong = isForward === true ? new Map<PushEdit, PushResult>() : await notFollowing(source, edits);
  if (wrong.size > 0)
    return edits.map((edit) => wrong.get(edit) ?? undone(edit.name, 'another edit could not be made'));
  const args = [
    // git forces an edit that has a lease. Source: git-push(1), `--force-with-lease`.
    ...edits.flatMap(({ name, expected: at }) => (at === undefined ? [] : [`--force-with-lease=${name}:${at ?? ''}`])),
    '--',
    remote,
    ...edits.map(({ name, value }) => `${value ?? ''}:${name}`),
  ];
  const run = { ...folder.run([]), settings, ...towardsRemote(mayAsk), signal, onProgress };
  const outcomes = await runPush(run, args, (told) =>
    edits.every(({ name }) => (told.get(name)?.outcome ?? 'unknown') !== 'unknown'),
  );
  return edits.map(({ name }) => {
    const outcome = outcomes.get(name);
    if (outcome === undefined || outcome.outcome === 'unknown') throw new Error(`git push said nothing about ${name}`);
    return { name, ...outcome };
  });
}

/**
 * Runs one push, atomic if the remote can.
 * @param isTold tells whether the outcomes of a push that failed are known; otherwise its error is thrown
 */
async function runPush(
  run: GitRun,
  args: readonly string[],
  isTold: (outcomes: ReadonlyMap<string, RefOutcome>) => boolean,
): Promise<Map<string, RefOutcome>> {
  const push = async (atomicity: string): Promise<Map<string, RefOutcome>> => {
    const printed = await runGit({ ...run, args: ['push', ...options, atomicity, '--progress', ...args] });
    return parsePushResults(printed.toString('utf8'), '');
  };
  const readFailure = (error: unknown): Map<string, RefOutcome> => {
    if (!(error instanceof GitFailed)) throw error;
    const outcomes = parsePushResults(error.printed, error.said);
    // A full disk of the remote may have room later, unlike a limit of the remote.
    if (!isTold(outcomes) || fullDiskIn(error.said) !== undefined) throw explainLimit(error);
    return outcomes;
  };
  return push('--atomic').catch((error: unknown) =>
    error instanceof GitFailed && lacksAtomicPush(error) ? push('--no-atomic').catch(readFailure) : readFailure(error),
  );
}

/** Finds edits that a lease would force although the new value does not follow the expected one. */
async function notFollowing(
  { location, env }: GitPlace,
  edits: readonly PushEdit[],
): Promise<Map<PushEdit, PushResult>> {
  const wrong = new Map<PushEdit, PushResult>();
  for (const edit of edits) {
    const { name, value, expected } = edit;
    if (value === null || expected === null || expected === undefined || value === expected) continue;
    const run = runGit({ location, env, args: ['merge-base', '--is-ancestor', expected, value] });
    const isBehind = await run.then(() => true, inPlaceOf(GitFailed, false));
    if (!isBehind) wrong.set(edit, { name, outcome: 'moved', reason: `${value} does not follow ${expected}` });
  }
  return wrong;
}

/** Tells whether a check says nothing of the edit of its ref: it held, or another edit is the cause. */
function isPassed({ outcome }: PushResult): boolean {
  return isDone(outcome) || outcome === 'undone';
}

function undone(name: PushEdit['name'], reason: string): PushResult {
  return { name, outcome: 'undone', reason };
}

function batches(edits: readonly PushEdit[]): PushEdit[][] {
  const made: PushEdit[][] = [];
  let room = 0;
  for (const edit of edits) {
    // The value and the name, and for a lease the name and an id, with a pointer and a NUL for each argument.
    const bytes = 80 + Buffer.byteLength(edit.name) + (edit.expected === undefined ? 0 : 110 + edit.name.length);
    if (bytes > room) {
      made.push([]);
      room = MAX_ARGUMENT_BYTES;
    }
    made.at(-1)?.push(edit);
    room -= bytes;
  }
  return made;
}

/** The edits of a push in two stages, each a push of its own. */
type PushStages = {
  /** What creates and moves refs. Empty: all edits can go together. */
  first: readonly PushEdit[];
  /** What deletes refs, if the first stage was made. */
  last: readonly PushEdit[];
  /** Edits of either that nobody asked for: only their failure counts. */
  checks: ReadonlySet<PushEdit>;
};

/**
 * Puts what a push deletes behind what it is to keep.
 *
 * An atomic push is not atomic where the remote cannot check what came, because one of its refs leads to a missing object: it
 * refuses all new values, and makes the deletions. The first stage makes sure that what is deleted has its expected value, and the
 * last one that the remote has what the first one made.
 * @param hasMore whether other deletions follow
 * @param has tells whether a commit is here: git cannot compare a ref with one that is not
 * Source: `execute_commands` in git's builtin/receive-pack.c.
 */
async function stagesOf(
  edits: readonly PushEdit[],
  hasMore: boolean,
  has: (id: ObjectId) => Promise<boolean>,
): Promise<PushStages> {
  const kept = edits.filter(({ value }) => value !== null);
  const deletions = edits.filter(({ value }) => value === null);
  const isTogether = (deletions.length === 0 && !hasMore) || kept.every(({ value, expected }) => value === expected);
  if (isTogether) return { first: [], last: edits, checks: new Set() };
  const before: PushEdit[] = [];
  for (const { via, ...edit } of deletions) {
    const value = via ?? edit.expected ?? undefined;
    if (value !== undefined && (await has(value))) before.push({ ...edit, value });
  }
  const after = kept.map(({ name, value }): PushEdit => ({ name, value, expected: value }));
  const moved = deletions.map(({ via, ...edit }): PushEdit => (via === undefined ? edit : { ...edit, expected: via }));
  return { first: [...kept, ...before], last: [...after, ...moved], checks: new Set([...before, ...after]) };
}

/** Deletions of nearly all refs of some folders, which git makes by a pattern for each folder. */
type FolderDeletions = {
  edits: PushEdit[];
  /** The patterns, and the refs of these folders that stay. */
  refspecs: string[];
};

/**
 * Fewer deletions in a folder are made one by one.
 *
 * git compares each refspec with each ref of the remote, in 1.2 µs: 10,000 deletions at a remote with 100,000 refs take 20
 * minutes. Patterns take a second.
 */
const MIN_DELETIONS = 100;
/** So many deletions go in one push, if no folder has more. The server holds the locks of all their refs. */
const MAX_DELETIONS = 10_000;

/**
 * Takes the deletions of whole folders out of the edits of a push.
 * @param there the refs of the remote, as they were just listed
 */
function takeFolderDeletions(
  edits: readonly PushEdit[],
  there: readonly RemoteRef[],
): { others: PushEdit[]; folders: FolderDeletions[] } {
  const byFolder = groupByFolder(edits.filter(({ value, expected }) => value === null && typeof expected === 'string'));
  const others = new Set(edits);
  const folders: FolderDeletions[] = [];
  const refsThere = byFolder.size === 0 ? new Map<string, RemoteRef[]>() : groupByFolder(there);
  for (const [folder, deletions] of byFolder) {
    const names = new Set<string>(deletions.map(({ name }) => name));
    const staying = (refsThere.get(folder) ?? []).filter(({ name }) => !names.has(name));
    if (deletions.length < MIN_DELETIONS || staying.length > deletions.length) continue;
    for (const edit of deletions) others.delete(edit);
    const refspecs = [`${folder}*:${folder}*`, ...staying.map(({ name }) => `^${name}`)];
    const last = folders.at(-1);
    if (last !== undefined && last.edits.length + deletions.length <= MAX_DELETIONS) {
      last.edits.push(...deletions);
      last.refspecs.push(...refspecs);
    } else folders.push({ edits: [...deletions], refspecs });
  }
  return { others: [...others], folders };
}

function groupByFolder<T extends { name: string }>(refs: readonly T[]): Map<string, T[]> {
  const folders = new Map<string, T[]>();
  for (const ref of refs) {
    const folder = ref.name.slice(0, ref.name.lastIndexOf('/') + 1);
    const same = folders.get(folder);
    if (same === undefined) folders.set(folder, [ref]);
    else same.push(ref);
  }
  return folders;
}

/**
 * Applies edits to the refs of a bundle and writes it again: all edits or none.
 *
 * A bundle has the full history of its refs, so that an empty repository can fetch from it. The new file is complete and
 * durable before it replaces the old one.
 * @param folder a guest folder without refs
 * @param path absolute; the file need not exist
 * @throws {GitFailed} if the file is no bundle, or needs commits that are not here
 * Source: git-bundle(1).
 */
export async function pushBundle(folder: GuestFolder, path: string, request: PushRequest): Promise<PushResult[]> {
  const { edits, isForward = false, signal } = request;
  const had = existsSync(path)
    ? await fetchRefs(folder, path, { refs: ['refs/*'], signal }, { mayAsk: false, isLocal: false })
    : [];
  const refs = new Map<string, ObjectId>(had.map(({ name, id }) => [name, id]));
  const results: PushResult[] = [];
  for (const edit of edits) results.push(await resultOf(folder, edit, refs.get(edit.name), isForward));
  if (results.some(({ outcome }) => outcome === 'moved')) return results.map(undoneUnlessMoved);
  for (const { name, value } of edits) {
    if (value === null) refs.delete(name);
    else refs.set(name, value);
  }
  if (results.some(({ outcome }) => outcome === 'done')) await writeBundle(folder, path, refs, signal);
  return results;
}

async function resultOf(
  folder: GuestFolder,
  { name, value, expected }: PushEdit,
  current: ObjectId | undefined,
  isForward: boolean,
): Promise<PushResult> {
  if (value !== null && value === current) return { name, outcome: 'unchanged' };
  if (expected !== undefined && expected !== (current ?? null)) {
    return { name, outcome: 'moved', reason: `it is at ${current ?? 'nothing'}` };
  }
  // A redacted thread is no descendant of the old one. The caller has checked that it may replace it.
  const isChecked = isForward && expected !== undefined;
  if (value === null || current === undefined || isChecked || (await isBehind(folder, current, value)))
    return { name, outcome: 'done' };
  return { name, outcome: 'moved', reason: `${value} does not follow ${current}` };
}

async function isBehind(folder: GuestFolder, older: ObjectId, newer: ObjectId): Promise<boolean> {
  const run = folder.run(['merge-base', '--is-ancestor', older, newer]);
  return runGit(run).then(() => true, inPlaceOf(GitFailed, false));
}

function undoneUnlessMoved(result: PushResult): PushResult {
  if (result.outcome !== 'done') return result;
  return { name: result.name, outcome: 'undone', reason: 'another edit could not be made' };
}

async function writeBundle(
  folder: GuestFolder,
  path: string,
  refs: ReadonlyMap<string, ObjectId>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const made = join(folder.path, 'made.bundle');
  try {
    if (refs.size === 0) {
      // A bundle cannot be empty.
      rmSync(path, { force: true });
      return;
    }
    writeFileSync(join(folder.path, 'packed-refs'), formatPackedRefs([...refs].map(([name, id]) => ({ name, id }))));
    const input = [...refs.keys()].map((name) => `${name}\n`).join('');
    const args = ['bundle', 'create', '--quiet', made, '--stdin'];
    await runGit({ ...folder.run(args), input, signal });
    sync(made);
    putInPlace(made, path);
    syncFolder(dirname(path));
  } catch (error) {
    throw asFullDisk(asStorageError(error, path), folder.path);
  }
}

/** Renames the file, or, on another file system, copies it beside its place and renames the copy. */
function putInPlace(made: string, path: string): void {
  try {
    renameSync(made, path);
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
    const beside = `${path}.new`;
    try {
      copyFileSync(made, beside);
      sync(beside);
      renameSync(beside, path);
    } catch (failed) {
      // It takes the space that was short.
      rmSync(beside, { force: true });
      throw failed;
    }
  }
}

function sync(path: string): void {
  whileOpen(openSync(path, 'r+'), fsyncSync);
}
