import type { NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup/repository-nodes.ts';
import { getNode, type StoredNode } from '../../cas/node-source.ts';
import type { Repository } from '../../git/repository.ts';
import { typeNameOf } from '../../schema/built-in.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { nothingForDataError } from '../fault-of.ts';
import { isThreadId, type ThreadId } from '../thread-id.ts';
import { findKept } from './find-kept.ts';
import { EVERYWHERE, findThread, listPointers } from './find-thread.ts';
import type { ThreadPointer } from '../thread-refs.ts';

/**
 * Yields the threads that may have a node of a commit: first the one in which it was written, with a ref, archived, or without a
 * ref, and then all others, the newest first. Forks share the commits of their thread.
 *
 * @param hash the hash of a start, step, suspension, resumption or end
 */
export async function* likelyOwners(repository: Repository, hash: NodeHash): AsyncGenerator<ThreadPointer, void, void> {
  const born = await findBorn(repository, hash).catch(nothingForDataError);
  const own = born && (await findThread(repository, born));
  if (own) yield own;
  const pointers = await listPointers(repository, EVERYWHERE);
  if (born && !own) yield* await findKept(repository, pointers, born);
  yield* pointers.filter(({ id }) => id !== own?.id).toReversed();
}

/** The id that a thread began with, by the hash of a node of its commits. */
async function findBorn(repository: Repository, hash: NodeHash): Promise<ThreadId | undefined> {
  const nodes = repositoryNodes(repository);
  const start = await getNode(nodes, startOf(await getNode(nodes, hash)));
  const { id } = payloadOf(start, 'thread-start');
  return isThreadId(id) ? id : undefined;
}

/** The start of the thread that a node of a commit names; that of a start is itself. */
function startOf(node: StoredNode): NodeHash {
  const kind = typeNameOf(node.type);
  switch (kind) {
    case 'thread-step':
    case 'thread-suspend':
    case 'thread-resume':
    case 'thread-end':
      return payloadOf(node, kind).start;
    default:
      return node.hash;
  }
}
