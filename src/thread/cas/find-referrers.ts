import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { NodeSource } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { typeNameOf } from '../../schema/built-in.ts';
import { refs } from '../../schema/links/refs.ts';
import { readChain } from '../read/read-chain.ts';

/** A node that links to another, and the step (or start, or end) whose commit it lies in. */
export type Referrer = { hash: NodeHash; in: NodeHash };

/**
 * Finds which nodes of a thread link to some nodes; oldest first. A node without any is not in the map.
 *
 * Reads every node of the thread.
 */
export async function findReferrers(
  repository: Repository,
  source: NodeSource,
  head: ObjectId,
  hashes: Iterable<NodeHash>,
): Promise<Map<NodeHash, Referrer[]>> {
  const asked = new Set(hashes);
  const found = new Map<NodeHash, Referrer[]>();
  for await (const commit of readChain(repository, head)) {
    for (const entry of commit.index) {
      // Every start has the schemas of all built-in types, which link to nothing.
      if (typeNameOf(entry.hash) !== undefined) continue;
      const node = await readNodeAt(repository, entry);
      for (const link of new Set(await refs(source, node))) {
        if (!asked.has(link)) continue;
        const referrers = found.get(link) ?? [];
        found.set(link, referrers);
        referrers.push({ hash: entry.hash, in: commit.hash });
      }
    }
  }
  // The chain is read from its head.
  for (const referrers of found.values()) referrers.reverse();
  return found;
}
