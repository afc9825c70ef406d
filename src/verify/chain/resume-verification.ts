import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import type { Replayer } from '../replay/replay.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { ObjectMissing } from '../../git/format/object-errors.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { findEventFile, findNodeAt, readThreadCommit, type ThreadCommit } from '../../thread/format/thread-commit.ts';
import type { KnownNodes } from './known-nodes.ts';
import { NotHereYet } from '../fault.ts';
import { growVerified, textPathOf, type Verified } from './verified.ts';

/** A commit that was gone past on the way down. */
type Passed = { id: ObjectId; kind: ThreadCommit['kind'] };

/**
 * Reads what the check of the next commit needs from a thread that was verified up to a commit: where its nodes are, and the
 * newest steps, as far as rules can see them. Does not verify them again.
 *
 * @param known has no nodes yet
 * @throws {CorruptThread} if the commit is no part of a thread
 */
export async function resumeVerification(
  repository: Repository,
  known: KnownNodes,
  replayer: Replayer,
  head: ObjectId,
): Promise<Verified | undefined> {
  const [start, ...later] = (await passDown(repository, known, head)).toReversed();
  if (start === undefined) return undefined;
  const first = await readThreadCommit(repository, start.id);
  const verified = await growVerified(undefined, first, await textOf(repository, first), known, replayer);
  const seen = newestSteps(later, await verified.replay.stepsNeeded(known));
  for (const { id, kind } of later.slice(0, seen)) if (kind === 'step') verified.progress.pass(id);
  for (const { id } of later.slice(seen)) {
    const commit = await readThreadCommit(repository, id);
    await growVerified(verified, commit, await textOf(repository, commit), known, replayer);
  }
  return verified;
}

/** Walks down to the start and records where the nodes are. @returns the commits, the newest first */
async function passDown(repository: Repository, known: KnownNodes, head: ObjectId): Promise<Passed[]> {
  const passed: Passed[] = [];
  const further: ObjectId[] = [];
  for (let id = alone(head); ;) {
    const { parents, entries = [] } = await readCommitNodesOnce(repository, id);
    const kind = findEventFile(entries)?.kind;
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
  // Lookups begin with the newest.
  for (const parent of further.toReversed()) known.addBehind(parent);
  return passed;
}

/** The index at which the last `count` steps begin, in commits sorted oldest first; 0 if there are fewer. */
function newestSteps(commits: readonly Passed[], count: number): number {
  let left = count;
  for (let at = commits.length - 1; at >= 0; at--) {
    if (commits[at]?.kind === 'step') left -= 1;
    if (left === 0) return at;
  }
  return 0;
}

/** The parents other than the previous commit of the same thread. */
export function furtherParents({ kind, commit: { parents } }: ThreadCommit): readonly ObjectId[] {
  return kind === 'start' ? parents : parents.slice(1);
}

/** The text that a commit adds. A partial clone may not have fetched it yet; rules see no text then. */
async function textOf(repository: Repository, commit: ThreadCommit): Promise<StoredNode | undefined> {
  const path = textPathOf(commit);
  try {
    return path === undefined ? undefined : await findNodeAt(repository, commit, path);
  } catch (error) {
    if (error instanceof NotHereYet || error instanceof ObjectMissing) return undefined;
    throw error;
  }
}
