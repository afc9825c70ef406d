import { nodesBehind, readCommitIndex, readCommitNodes, readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import {
  combineSources,
  type EncodedNode,
  encodeNode,
  getNode,
  type NodeSource,
  type StoredNode,
} from '../cas/node.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import { ObjectMissing } from '../git/format/object-errors.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { inPlaceOf } from '../or-else.ts';
import { isThreadType, payloadOf, typeNameOf } from '../schema/built-in.ts';
import { refs } from '../schema/links.ts';
import { findKept } from './find-kept.ts';
import { EVERYWHERE, findThread, listPointers } from './find-thread.ts';
import { findEventFile, readThreadCommit } from './thread-commit.ts';
import { nothingForDataError } from './thread-errors.ts';
import { isThreadId, scratchRef, type ThreadId, type ThreadPointer } from './thread-id.ts';
import type { ThreadState } from './thread-state.ts';

/** The nodes that were put under a thread and that no step has taken in yet, as files of a step's tree. */
export type Scratch = {
  /** The commit that the scratch ref points at; `undefined` if there is none. */
  commit: ObjectId | undefined;
  files: readonly NodeFile[];
};

/**
 * Reads the nodes at a thread's scratch ref.
 *
 * They are returned encoded, because the step writes them again: the scratch commit is no parent of the step's commit, so a
 * garbage collection during the change of the refs could delete the old blobs.
 */
export async function readScratch(repository: Repository, id: ThreadId): Promise<Scratch> {
  const commit = await repository.refs.read(scratchRef(id));
  if (commit === undefined) return { commit, files: [] };
  const files: NodeFile[] = [];
  for (const entry of await readCommitIndex(repository, commit)) {
    const { type, payload } = await readNodeAt(repository, entry);
    files.push({ path: entry.path, node: encodeNode(type, payload) });
  }
  return { commit, files };
}

/** The nodes at a thread's scratch ref as a source. */
export async function scratchNodes(repository: Repository, id: ThreadId): Promise<NodeSource> {
  const commit = await repository.refs.read(scratchRef(id));
  return nodesBehind(repository, commit === undefined ? [] : [commit]);
}

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
      const nodes = await readCommitNodes(repository, id).catch(inPlaceOf(ObjectMissing, undefined));
      if (nodes?.entries === undefined) continue;
      if (findEventFile(nodes.entries)?.file.hash === hash) return (await readThreadCommit(repository, id)).id;
      pending.push(...nodes.parents.toReversed());
    }
  }
  return undefined;
}

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
