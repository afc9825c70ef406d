import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup/repository-nodes.ts';
import { encodeNode, type EncodedNode } from '../../cas/node.ts';
import { combineSources, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import { ObjectMissing } from '../../git/format/object-errors.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { isThreadType } from '../../schema/built-in.ts';
import { refs } from '../../schema/links/refs.ts';
import { likelyOwners } from '../find/likely-owners.ts';
import { findEventFile, readThreadCommit } from '../thread-commit.ts';
import { scratchNodes } from './thread-scratch.ts';
import { inPlaceOf } from '../../or-else.ts';
import type { ThreadState } from '../read/thread-state.ts';

/** The needs of a step's links: nodes to copy from elsewhere, commits of other threads as parents, and missing nodes. */
export type LinkResolution = {
  /** Nodes that were found at the thread's scratch ref. They can be deleted until the step has taken them in. */
  waiting: readonly NodeHash[];
  nodes: readonly EncodedNode[];
  commits: readonly ObjectId[];
  missing: readonly NodeHash[];
};

/**
 * Finds the nodes with some hashes: in the thread, at its scratch ref, then anywhere in the repository.
 *
 * A node from elsewhere has to be copied with everything that it links to. A commit of another thread is not copied, but
 * becomes a parent. A hash that is found nowhere is missing.
 */
export async function resolveLinks(
  repository: Repository,
  state: ThreadState,
  hashes: readonly NodeHash[],
): Promise<LinkResolution> {
  const behind = nodesBehind(repository, [state.head.id]);
  const scratch = await scratchNodes(repository, state.id);
  const everywhere = combineSources(behind, scratch, repositoryNodes(repository));
  const waiting: NodeHash[] = [];
  const nodes = new Map<NodeHash, EncodedNode>();
  const commits = new Set<ObjectId>();
  const missing = new Set<NodeHash>();
  const queue = [...hashes];
  const seen = new Set<NodeHash>();
  for (let hash = queue.pop(); hash !== undefined; hash = queue.pop()) {
    if (seen.has(hash)) continue;
    seen.add(hash);
    if (await behind.find(hash)) continue;
    if (await scratch.find(hash)) {
      waiting.push(hash);
      continue;
    }
    const node = await everywhere.find(hash);
    if (!node) {
      missing.add(hash);
    } else if (isThreadType(node.type)) {
      const commit = await findCommitOf(repository, hash);
      if (commit) commits.add(commit);
      else missing.add(hash);
    } else {
      nodes.set(hash, encodeNode(node.type, node.payload));
      queue.push(...(await linksOf(everywhere, node)));
    }
  }
  return { waiting, nodes: [...nodes.values()], commits: [...commits], missing: [...missing] };
}

/** The nodes that a copied node needs: its links, and the schema of its type. */
async function linksOf(source: NodeSource, node: StoredNode): Promise<NodeHash[]> {
  return [...(await refs(source, node)), node.type];
}

/**
 * The commit that introduced a start, step, suspension, resumption or end: of a thread with a ref, or of one that is here only
 * because it is in the history of another.
 */
async function findCommitOf(repository: Repository, hash: NodeHash): Promise<ObjectId | undefined> {
  const met = new Set<ObjectId>();
  for await (const { head } of likelyOwners(repository, hash)) {
    const pending = [head];
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      if (met.has(id)) continue;
      met.add(alone(id));
      // A parent is missing in a shallow clone.
      const nodes = await readCommitNodesOnce(repository, id).catch(inPlaceOf(ObjectMissing, undefined));
      if (nodes?.entries === undefined) continue;
      if (findEventFile(nodes.entries)?.file.hash === hash) return (await readThreadCommit(repository, id)).id;
      pending.push(...nodes.parents.toReversed());
    }
  }
  return undefined;
}
