import type { Commit } from '../git/commit.ts';
import { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ObjectStore } from '../git/object-store.ts';
import { readCommit, type ObjectReader } from '../git/read.ts';

/** What becomes of a workflow's registry here; `joined` has objects that are still to be written. */
export type JoinedRegistry =
  | { kind: 'same' }
  | { kind: 'ahead' }
  | { kind: 'forward'; head: ObjectId }
  | { kind: 'joined'; head: ObjectId; batch: ObjectBatch };

/**
 * Brings two registries of one workflow together.
 *
 * Two that diverged are joined by a registration with both as parents, the remote's first. Its definition is the newer
 * one, and whom and when it names come from there: two machines that join the same two make the same commit.
 */
export async function joinRegistrations(
  objects: ObjectStore,
  here: ObjectId,
  there: ObjectId,
): Promise<JoinedRegistry> {
  if (here === there) return { kind: 'same' };
  if (await leadsTo(objects, here, there)) return { kind: 'ahead' };
  if (await leadsTo(objects, there, here)) return { kind: 'forward', head: there };
  const ours = await readCommit(objects, here);
  const theirs = await readCommit(objects, there);
  // The same was registered twice, and for the first time here: nothing would be lost.
  if (ours.tree === theirs.tree && ours.parents.length === 0) return { kind: 'forward', head: there };
  const { tree, message, committer } = isNewer(ours, here, theirs, there) ? ours : theirs;
  const batch = new ObjectBatch(objects.format);
  const parents = [there, here];
  return { kind: 'joined', head: batch.addCommit({ tree, parents, author: committer, committer, message }), batch };
}

/** Tells whether one registration is among those before another; histories of registries are short. */
export async function leadsTo(objects: ObjectReader, from: ObjectId, wanted: ObjectId): Promise<boolean> {
  const waiting = [from];
  const passed = new Set<ObjectId>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id === wanted) return true;
    if (passed.has(id)) continue;
    passed.add(id);
    waiting.push(...(await readCommit(objects, id)).parents);
  }
  return false;
}

function isNewer(one: Commit, oneId: ObjectId, other: Commit, otherId: ObjectId): boolean {
  if (one.committer.atMs !== other.committer.atMs) return one.committer.atMs > other.committer.atMs;
  return oneId > otherId;
}
