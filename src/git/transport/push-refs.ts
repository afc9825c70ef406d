import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectId } from '../format/object-id.ts';
import { isDone, type PushEdit, type PushRequest, type PushResult } from './remote.ts';
import { takeFolderDeletions, type FolderDeletions } from './folder-deletions.ts';
import { formatPackedRefs, type GuestFolder } from './guest-folder.ts';
import { stagesOf } from './push-stages.ts';
import { fullDiskIn, lacksAtomicPush, parsePushResults, type RefOutcome } from './git-output.ts';
import { GitFailed, type GitPlace, type GitRun, runGit } from '../process/run-git.ts';
import { explainLimit, littleMemory, towardsRemote } from './towards-remote.ts';
import { inPlaceOf } from '../../or-else.ts';

/** A command line has room for 2 MiB on Linux, environment and pointers included, and 1 MiB on macOS. */
const MAX_ARGUMENT_BYTES = 800_000;

/** Pushes only these refs, whatever is configured, without the user's hooks, which are about code. */
const settings = ['protocol.version=2', ...littleMemory, 'pack.windowMemory=32m', 'pack.deltaCacheSize=16m'];
const options = ['--porcelain', '--no-verify', '--no-follow-tags', '--no-force-if-includes', '--recurse-submodules=no'];

/** The folder of refs in the guest folder with the expected values of the remote's refs. */
const TRACKED = 'refs/tracked/';

/** Options of a push. */
export type PushControl = {
  /** Whether git may ask a person at the terminal. */
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
