import { findNodeAt } from '../thread-commit.ts';
import { readThreadCommit } from '../thread-commit.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import { ObjectMissing } from '../../git/object-errors.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { Judge } from './check-commit.ts';
import { findChain } from './find-chain.ts';
import { NotHereYet } from './not-here-yet.ts';
import type { KnownNodes } from './known-nodes.ts';
import { growVerified, textPathOf, type Verified } from './verified.ts';

/**
 * Reads what the check of the next commit needs, off a thread that was verified up to a commit: its steps, and where its
 * nodes lie. Nothing is checked again beyond what every reader checks.
 * @param known has no nodes yet
 * @throws {CorruptThread} if the commit is no part of a thread
 */
export async function resumeVerification(
  repository: Repository,
  known: KnownNodes,
  judge: Judge,
  head: ObjectId,
): Promise<Verified | undefined> {
  const { ids, wrong } = await findChain(repository, head, { isKnown: () => false, maxCommits: Infinity });
  if (wrong !== undefined) throw new CorruptThread(head, wrong);
  let verified: Verified | undefined;
  for (const id of ids.toReversed()) {
    const commit = await readThreadCommit(repository, id);
    for (const entry of commit.index) known.recall(entry);
    for (const parent of furtherParents(commit)) known.addBehind(parent);
    verified = await growVerified(verified, commit, await textOf(repository, commit), known, judge);
  }
  return verified;
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
