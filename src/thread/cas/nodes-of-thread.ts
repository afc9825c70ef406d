import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readChain } from '../read/read-chain.ts';

/**
 * Lists the nodes of all commits of a thread, each once: from its head back to its start, of each commit its own node
 * first. They are the roots of a walk of the thread: a suspension and a resumption are links of no step.
 *
 * @throws {CorruptThread} if a commit is no part of a thread, or the chain ends before a start
 */
export async function nodesOfThread(repository: Repository, head: ObjectId): Promise<NodeHash[]> {
  const hashes = new Set<NodeHash>();
  for await (const { hash, index } of readChain(repository, head)) {
    hashes.add(hash);
    for (const entry of index) hashes.add(entry.hash);
  }
  return [...hashes];
}
