import type { Commit } from '../../git/format/commit.ts';
import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import { readCommit, type ObjectReader } from '../../git/stores/read.ts';
import { eachOnce } from '../each-once.ts';

/** The registry of a workflow after a fetch, and what became of it. The objects of `batch` are still to be written. */
type JoinedRegistry = { kind: 'new' | 'forward' | 'joined'; head: ObjectId; batch?: ObjectBatch };

/**
 * Merges two registries of one workflow; `undefined` if the one here has everything.
 *
 * Diverged registries are merged by a registration with both as parents, the remote's first. It takes its definition, author
 * and time from the newer one, so two machines that merge the same registries make the same commit.
 */
export async function joinRegistrations(
  objects: ObjectStore,
  here: ObjectId | undefined,
  there: ObjectId,
): Promise<JoinedRegistry | undefined> {
  if (here === undefined) return { kind: 'new', head: there };
  if (await leadsTo(objects, here, there)) return undefined;
  if (await leadsTo(objects, there, here)) return { kind: 'forward', head: there };
  const ours = await readCommit(objects, here);
  const theirs = await readCommit(objects, there);
  // The first registration here is the same definition: no version is lost.
  if (ours.tree === theirs.tree && ours.parents.length === 0) return { kind: 'forward', head: there };
  const { tree, message, committer } = isNewer(ours, here, theirs, there) ? ours : theirs;
  const batch = new ObjectBatch(objects.format);
  const parents = [there, here];
  return { kind: 'joined', head: batch.addCommit({ tree, parents, author: committer, committer, message }), batch };
}

/** Tells whether a registration is an ancestor of another. Reads all history: registries are short. */
export async function leadsTo(objects: ObjectReader, from: ObjectId, wanted: ObjectId): Promise<boolean> {
  const waiting = [from];
  for (const id of eachOnce(waiting)) {
    if (id === wanted) return true;
    waiting.push(...(await readCommit(objects, id)).parents);
  }
  return false;
}

function isNewer(one: Commit, oneId: ObjectId, other: Commit, otherId: ObjectId): boolean {
  if (one.committer.atMs !== other.committer.atMs) return one.committer.atMs > other.committer.atMs;
  return oneId > otherId;
}
