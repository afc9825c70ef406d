import { nodesBehind, readCommitIndex, readCommitNodes, readNodeAt } from '../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash, parseNodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import {
  combineSources,
  type EncodedNode,
  encodeNode,
  getNode,
  type Node,
  type NodeSource,
  type StoredNode,
} from '../cas/node.ts';
import { isArtifact, listScratch, removeFromScratch } from '../cas/scratch.ts';
import { UwfError } from '../errors.ts';
import { ObjectMissing } from '../git/format/errors.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonValue } from '../json.ts';
import { inPlaceOf } from '../or-else.ts';
import { type Artifact, builtIn, isThreadType, payloadOf, typeNameOf } from '../schema/built-in.ts';
import { refs } from '../schema/links.ts';
import { putNodes } from '../schema/put.ts';
import { findKept } from './find-kept.ts';
import { EVERYWHERE, findThread, getThread, listPointers } from './find-thread.ts';
import { readChain } from './thread-chain.ts';
import { findEventFile, readThreadCommit } from './thread-commit.ts';
import { nothingForDataError, WrongThreadState } from './thread-errors.ts';
import { isThreadId, scratchRef, type ThreadId, type ThreadPointer } from './thread-id.ts';
import type { ThreadState } from './thread-state.ts';

/** A node of a thread's store, and the step that took it in; `step` is undefined while it waits for one. */
type ThreadCasEntry = { hash: NodeHash; step: NodeHash | undefined };

/**
 * The content-addressed store of one thread: the nodes of its history, with all parents, and those that were put under the
 * thread and that no step has taken in yet.
 */
export interface ThreadCas extends NodeSource {
  /** Puts a text as a content node, pinned until a step takes it in or it is deleted. */
  put(text: string): Promise<NodeHash>;
  /**
   * Puts a value of another type.
   * @throws {SchemaViolation} if it does not match the type
   * @throws {DanglingLink} if it links to what does not exist
   */
  putTyped(type: NodeHash, payload: JsonValue): Promise<NodeHash>;
  /**
   * Puts many nodes in one write, all or none; they may link to each other.
   * @returns their hashes, in the order of the nodes
   * @throws as `putTyped` does
   */
  putAll(nodes: readonly Node[]): Promise<NodeHash[]>;
  /**
   * Pins a git object for as long as the thread has the artifact that names it.
   * @param blob the blob itself, where the repository may not have it yet
   * @throws {ObjectMissing} {WrongPin} if the repository does not have it, or it is of another kind
   */
  pin(artifact: Artifact, blob?: Uint8Array): Promise<NodeHash>;
  /** @throws {NodeNotFound} if the thread does not have it */
  get(hash: string): Promise<StoredNode>;
  /**
   * Deletes a node that was put; false if the thread does not have it.
   * @throws {UwfError} `node-in-use` if a step has taken it in
   */
  delete(hash: string): Promise<boolean>;
  /** The nodes that were put: first those that steps have taken in, oldest first, then those that wait for a step. */
  list(): Promise<ThreadCasEntry[]>;
}

/**
 * Opens the store of a thread. It looks the thread up anew at every call, so it stays right while the thread grows.
 * @param thread an id, or a prefix that only this thread has
 */
export function threadCas(repository: Repository, thread: string): ThreadCas {
  const putAll = async (nodes: readonly Node[], blob?: Uint8Array): Promise<NodeHash[]> => {
    const pointer = await getThread(repository, thread);
    if (pointer.isHistory) {
      const hint = 'put it under a running thread, or without --thread';
      throw new WrongThreadState(pointer.id, 'over', 'no step will take in what is put now', hint);
    }
    const kept = nodesBehind(repository, [pointer.head]);
    return putNodes(repository, nodes, { ref: scratchRef(pointer.id), kept, ...(blob && { blob }) });
  };
  const ofThread = nodesOfTip(repository);
  const waitingNodes = nodesOfTip(repository);
  const cas: ThreadCas = {
    put: (text) => cas.putTyped(builtIn.content, { text }),
    putAll: (nodes) => putAll(nodes),
    get: async (hash) => getNode(cas, parseNodeHash(hash)),
    putTyped: async (type, payload) => onlyOf(await putAll([{ type, payload }])),
    pin: async (artifact, blob) => onlyOf(await putAll([{ type: builtIn.artifact, payload: { ...artifact } }], blob)),

    async find(hash) {
      const { id, head } = await getThread(repository, thread);
      const waiting = await repository.refs.read(scratchRef(id));
      return combineSources(waitingNodes(waiting), ofThread(head)).find(hash);
    },

    async delete(hash) {
      if (!isNodeHash(hash)) return false;
      const { id } = await getThread(repository, thread);
      const removed = await removeFromScratch(repository, scratchRef(id), [hash]);
      if (removed.length > 0) return true;
      const taken = (await cas.list()).find((entry) => entry.hash === hash);
      if (taken?.step !== undefined) {
        throw new UwfError(`node ${hash} belongs to step ${taken.step} and cannot be removed`, {
          code: 'node-in-use',
          kind: 'conflict',
          hint: "what a step has taken in lives as long as its thread; 'uwf thread rm' removes that",
          facts: { hash, step: taken.step },
        });
      }
      return false;
    },

    async list() {
      const { id, head } = await getThread(repository, thread);
      const entries: ThreadCasEntry[] = [];
      for await (const commit of readChain(repository, head)) {
        const put = commit.index.filter(isArtifact).map((entry) => ({ hash: entry.hash, step: commit.hash }));
        entries.unshift(...put);
      }
      const waiting = (await listScratch(repository, scratchRef(id))).filter(isArtifact);
      return [...entries, ...waiting.map((entry) => ({ hash: entry.hash, step: undefined }))];
    },
  };
  return cas;
}

/** The nodes behind a tip that can move. The commits that a search has read are cached until the tip moves. */
function nodesOfTip(repository: Repository): (tip: ObjectId | undefined) => NodeSource {
  let read: { tip: ObjectId | undefined; nodes: NodeSource } | undefined;
  return (tip) => {
    if (read === undefined || read.tip !== tip)
      read = { tip, nodes: nodesBehind(repository, tip === undefined ? [] : [tip]) };
    return read.nodes;
  };
}

function onlyOf(hashes: readonly NodeHash[]): NodeHash {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- One node was put, and there is a hash for each.
  return hashes[0] as NodeHash;
}

/**
 * Lists the nodes of all commits of a thread, each once: from its head back to its start, of each commit its own node
 * first. They are the roots of a walk of the thread: a suspension and a resumption are links of no step.
 */
export async function nodesOfThread(repository: Repository, head: ObjectId): Promise<NodeHash[]> {
  const hashes = new Set<NodeHash>();
  for await (const { hash, index } of readChain(repository, head)) {
    hashes.add(hash);
    for (const entry of index) hashes.add(entry.hash);
  }
  return [...hashes];
}

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
