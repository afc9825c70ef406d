import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import { listCommits, type CommitLine } from '../../git/process/list-commits.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { RemoteRef } from '../../git/transport/remote.ts';
import type { GitEnvironment, Repository } from '../../git/repository.ts';
import type { ThreadChange } from '../report.ts';
import { mayBeStart } from '../../thread/commit-message.ts';
import { readSnapshot } from '../../thread/step-files.ts';
import { assertDataError } from '../../thread/thread-errors.ts';
import { eachOnce } from '../each-once.ts';

/** A report names at most this many commits. */
const MAX_NAMED = 1000;
/** How many of the thread's commits at the remote are searched for the code that the remote got with them. */
const MAX_PASSED = 16;

type Change = Pick<ThreadChange, 'head' | 'before'>;

/**
 * Finds the commits of the user's code that a push of threads would publish.
 *
 * A step that recorded files leads to the commit that was checked out. A push sends that commit and its history: also
 * commits that the user has not pushed, and files that later commits deleted.
 *
 * @param changes the threads, and how each would change at the remote
 * @param listAll lists all refs of the remote
 * @param onUnreadable is told of a thread whose code is not known, because a commit cannot be read
 * @returns for each thread that would publish code, the commits that no ref of the remote reaches: the newest first, at most
 *   1,000
 * @throws {RemoteUnreachable} if the remote cannot list its refs
 */
export async function findUnpublishedCode<Thread>(
  repository: Repository,
  changes: ReadonlyMap<Thread, Change>,
  listAll: () => Promise<readonly RemoteRef[]>,
  onUnreadable: (thread: Thread, fault: string) => void,
  env: GitEnvironment = {},
): Promise<Map<Thread, CommitLine[]>> {
  const from = new Map<Thread, ObjectId[]>();
  for (const [thread, change] of changes) {
    try {
      const code = await codeOf(repository, change);
      if (code.length > 0) from.set(thread, code);
    } catch (error) {
      assertDataError(error);
      onUnreadable(thread, error.message);
    }
  }
  const found = new Map<Thread, CommitLine[]>();
  if (from.size === 0) return found;
  const without = await idsHere(repository, await listAll());
  const { location } = repository;
  const list = async (from: readonly ObjectId[]): Promise<CommitLine[]> =>
    location === undefined
      ? // A repository without a disk has no code beside the threads.
        from.filter((id) => !without.includes(id)).map((commit) => ({ commit, subject: '' }))
      : listCommits({ location, env }, { from, without, most: MAX_NAMED });
  const known = new Map<string, Promise<CommitLine[]>>();
  const findMissing = (code: readonly ObjectId[]): Promise<CommitLine[]> => {
    const starts = [...new Set(code)].toSorted();
    const key = starts.join(' ');
    const missing = known.get(key) ?? list(starts);
    known.set(key, missing);
    return missing;
  };
  // In most pushes nothing is missing: one question to git tells that of all threads.
  if ((await findMissing([...from.values()].flat())).length === 0) return found;
  for (const [thread, code] of from) {
    const missing = await findMissing(code);
    if (missing.length > 0) found.set(thread, missing);
  }
  return found;
}

/** The objects that refs of a remote point at, as far as they are here. */
export async function idsHere({ objects }: Repository, there: readonly RemoteRef[]): Promise<ObjectId[]> {
  const here: ObjectId[] = [];
  for (const id of new Set(there.map((ref) => ref.id))) if (await objects.has(id)) here.push(id);
  return here;
}

/** The code that the thread's new commits have as parents, but for that of the newest commits at the remote. */
async function codeOf(repository: Repository, { head, before }: Change): Promise<ObjectId[]> {
  const code = head === null ? [] : [...(await findCodeCommits(repository, head, before))];
  const had = new Set<ObjectId>();
  let at = code.length === 0 ? null : before;
  for (let passed = 0; at !== null && passed < MAX_PASSED; passed += 1) {
    const [previous = null, ...further] = (await readCommit(repository.objects, at)).parents;
    for (const id of further) for (const code of await codeAt(repository, id, at)) had.add(code);
    at = previous;
  }
  return code.filter((id) => !had.has(id));
}

/** A commit of code that a commit of a thread has as a parent; for a snapshot, what was checked out. */
async function codeAt(repository: Repository, id: ObjectId, child: ObjectId): Promise<readonly ObjectId[]> {
  return (await checkedOutBy(repository, id, child)) ?? [id];
}

/** What was checked out where a snapshot was taken; `undefined` for a commit that is no snapshot of the step. */
async function checkedOutBy(
  { objects }: Repository,
  id: ObjectId,
  step: ObjectId,
): Promise<readonly ObjectId[] | undefined> {
  return (await readSnapshot(objects, id, await readCommit(objects, step)))?.parents;
}

/**
 * Finds the commits of the user's code that a thread's commits have as parents: a checkout that a step recorded, also as the
 * parent of a snapshot, or a commit that an artifact pins. Their own parents are not included. The base of a branch can be a
 * snapshot of its caller: then what was checked out there counts.
 *
 * @param had the thread's commit at the remote, where the search ends
 */
async function findCodeCommits(repository: Repository, head: ObjectId, had: ObjectId | null): Promise<Set<ObjectId>> {
  const code = new Set<ObjectId>();
  const snapshots = new Map<ObjectId, readonly ObjectId[]>();
  const passed = new Set<ObjectId>(had === null ? [] : [had]);
  const waiting = [head];
  for (const id of eachOnce(waiting, passed)) {
    if (!(await isThreads(repository, id))) {
      code.add(id);
      continue;
    }
    // Commits with one parent bring in nothing else, so of a line of them only the last is examined.
    let { parents, message } = await readCommit(repository.objects, id);
    let last = id;
    for (let [next] = parents; next !== undefined && parents.length === 1 && !passed.has(next); [next] = parents) {
      // The parent of a start can be the user's code.
      if (mayBeStart(message)) break;
      last = next;
      passed.add(last);
      ({ parents, message } = await readCommit(repository.objects, last));
    }
    if (last !== id && !(await isThreads(repository, last))) {
      code.add(await firstCode(repository, id));
      continue;
    }
    waiting.push(...parents.slice(0, 1));
    for (const further of parents.slice(1)) {
      if (await isThreads(repository, further)) {
        waiting.push(further);
        continue;
      }
      const checkedOut = await checkedOutBy(repository, further, last);
      if (checkedOut !== undefined) snapshots.set(further, checkedOut);
      code.add(further);
    }
  }
  // A set visits what is added while it is read.
  for (const id of code) {
    const checkedOut = snapshots.get(id);
    if (checkedOut === undefined) continue;
    code.delete(id);
    for (const behind of checkedOut) code.add(behind);
  }
  return code;
}

async function isThreads(repository: Repository, id: ObjectId): Promise<boolean> {
  return (await readCommitNodesOnce(repository, id)).entries !== undefined;
}

/** The first commit of code behind commits of a thread. Only a ref that is no thread's leads to one along first parents. */
async function firstCode(repository: Repository, from: ObjectId): Promise<ObjectId> {
  let id = from;
  while (await isThreads(repository, id)) {
    const [parent] = (await readCommit(repository.objects, id)).parents;
    if (parent === undefined) return id;
    id = parent;
  }
  return id;
}
