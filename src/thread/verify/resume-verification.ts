import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { ObjectMissing } from '../../git/object-errors.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../thread-errors.ts';
import { findNodeAt, kindOfFile, readThreadCommit, type ThreadCommit } from '../thread-commit.ts';
import type { Judge } from './check-commit.ts';
import { alone } from './alone.ts';
import type { KnownNodes } from './known-nodes.ts';
import { NotHereYet } from './not-here-yet.ts';
import { growVerified, textPathOf, type Verified } from './verified.ts';

/** A commit that was gone past on the way down. */
type Passed = { id: ObjectId; kind: ThreadCommit['kind'] };

/**
 * Reads what the check of the next commit needs, off a thread that was verified up to a commit: where its nodes lie, and
 * as many of its newest steps as rules can see something of. Nothing is checked again beyond what every reader checks.
 * @param known has no nodes yet
 * @throws {CorruptThread} if the commit is no part of a thread
 */
export async function resumeVerification(
  repository: Repository,
  known: KnownNodes,
  judge: Judge,
  head: ObjectId,
): Promise<Verified | undefined> {
  const [start, ...later] = (await passDown(repository, known, head)).toReversed();
  if (start === undefined) return undefined;
  const first = await readThreadCommit(repository, start.id);
  const verified = await growVerified(undefined, first, await textOf(repository, first), known, judge);
  const seen = newestSteps(later, await verified.trial.reach(known));
  for (const { id, kind } of later.slice(0, seen)) if (kind === 'step') verified.progress.pass(id);
  for (const { id } of later.slice(seen)) {
    const commit = await readThreadCommit(repository, id);
    await growVerified(verified, commit, await textOf(repository, commit), known, judge);
  }
  return verified;
}

/** Goes down to the start and takes in where the nodes lie. @returns the commits, the newest first */
async function passDown(repository: Repository, known: KnownNodes, head: ObjectId): Promise<Passed[]> {
  const passed: Passed[] = [];
  const further: ObjectId[] = [];
  for (let id = alone(head); ;) {
    const { parents, entries = [] } = await readCommitNodesOnce(repository, id);
    const kind = kindOf(entries);
    if (kind === undefined) throw new CorruptThread(id, 'its tree has no start, step, suspend, resume or end node');
    for (const entry of entries) known.recall(entry);
    passed.push({ id, kind });
    const others = kind === 'start' ? parents : parents.slice(1);
    further.push(...others.map(alone).toReversed());
    if (kind === 'start') break;
    const [parent] = parents;
    if (parent === undefined) throw new CorruptThread(id, 'it is no start and has no parent');
    id = alone(parent);
  }
  // The newest is searched first.
  for (const parent of further.toReversed()) known.addBehind(parent);
  return passed;
}

function kindOf(entries: readonly IndexEntry[]): ThreadCommit['kind'] | undefined {
  for (const { path } of entries) {
    const kind = kindOfFile(path);
    if (kind !== undefined) return kind;
  }
  return undefined;
}

/** Where in a list of commits, the oldest first, the newest steps of a number begin; 0 if there are not as many. */
function newestSteps(commits: readonly Passed[], count: number): number {
  let left = count;
  for (let at = commits.length - 1; at >= 0; at--) {
    if (commits[at]?.kind === 'step') left -= 1;
    if (left === 0) return at;
  }
  return 0;
}

/** The parents that are not the commit before in the same thread. */
export function furtherParents({ kind, commit: { parents } }: ThreadCommit): readonly ObjectId[] {
  return kind === 'start' ? parents : parents.slice(1);
}

/** The text that a commit adds; contents of what was verified before may not have been fetched yet, and rules see none then. */
async function textOf(repository: Repository, commit: ThreadCommit): Promise<StoredNode | undefined> {
  const path = textPathOf(commit);
  try {
    return path === undefined ? undefined : await findNodeAt(repository, commit, path);
  } catch (error) {
    if (error instanceof NotHereYet || error instanceof ObjectMissing) return undefined;
    throw error;
  }
}
