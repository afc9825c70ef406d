import { ObjectMissing } from '../git/format/object-errors.ts';
import { hashObject, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { inPlaceOf } from '../or-else.ts';
import { type CommitNodes, readCommitNodes } from './commit-nodes.ts';

const prefixes = ['refs/threads/', 'refs/history/', 'refs/workflows/', 'refs/uwf/'];
/** Refs of nodes that no step has taken in yet. They can be dropped again, and nothing is ever taken out of the lookup. */
export const volatileRef: RegExp = /^refs\/uwf\/(?:scratch\/.+|pins)$/;
/** Records are handed out when this many have been collected. */
const MAX_COLLECTED = 150_000;

/**
 * Reads commits from all refs of uwf down to those that are known, and returns records of their nodes, and then of themselves: what is cut off
 * anywhere has no commit without its nodes.
 */
export async function* readNewCommits(
  repository: Repository,
  isKnown: (id: ObjectId) => boolean,
): AsyncGenerator<string[]> {
  const { objects, refs } = repository;
  // The tree of the commits that keep the ends of archived threads.
  const emptyTree = hashObject({ type: 'tree', data: Buffer.alloc(0) }, objects.format);
  let [nodes, commits]: [string[], string[]] = [[], []];
  /** The bytes of ids, one per character. The id itself is a slice of its commit's text, and would keep that text in memory. */
  const met = new Set<string>();
  const listed = await Promise.all(prefixes.map((prefix) => refs.list(prefix)));
  const tips = listed.flat().flatMap(({ name, id }) => (volatileRef.test(name) ? [] : [id]));
  // In order, so that neighbours are found on the same pages of the lookup.
  for (const tip of tips.toSorted()) {
    const pending = [tip];
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      const key = Buffer.from(id, 'hex').toString('latin1');
      if (met.has(key)) continue;
      met.add(key);
      if (isKnown(id)) continue;
      // Missing is the end of a shallow history (deepened later, it takes a rebuild), or a thread that was removed and
      // collected while we were reading.
      const read = async (): Promise<CommitNodes & { tree: ObjectId }> => {
        const commit = await readCommit(objects, id);
        return { tree: commit.tree, ...(await readCommitNodes(repository, id, commit)) };
      };
      const commit = await read().catch(inPlaceOf(ObjectMissing, undefined));
      if (commit === undefined) continue;
      commits.push(commitRecord(id));
      for (const { hash, oid } of commit.entries ?? []) nodes.push(`${hash} ${oid}`);
      // The user's own commits have records, but neither they nor their ancestors hold nodes. Reading goes on behind every
      // commit with the empty tree, also one of the user's own: what is known behind a commit must not depend on the ref
      // from which it was reached first.
      if (commit.entries !== undefined || commit.tree === emptyTree) pending.push(...commit.parents);
    }
    // Only between tips: a commit has a record only if the nodes of all commits before it are in the lookup.
    if (nodes.length + commits.length < MAX_COLLECTED) continue;
    yield [...nodes, ...commits];
    [nodes, commits] = [[], []];
    met.clear();
  }
  if (commits.length > 0) yield [...nodes, ...commits];
}

/** The record of a commit: `~` and the beginning of its id stand in place of a hash, which has no `~`. */
export function commitRecord(id: ObjectId): string {
  return `~${id.slice(0, 12)} ${id}`;
}
