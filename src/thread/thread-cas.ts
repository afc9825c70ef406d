import { nodesBehind, readNodeAt } from '../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash, parseNodeHash } from '../cas/hash.ts';
import { combineSources, getNode, type Node, type NodeSource, type StoredNode } from '../cas/node.ts';
import { isArtifact, listScratch, removeFromScratch } from '../cas/scratch.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonValue } from '../json.ts';
import { type Artifact, builtIn, typeNameOf } from '../schema/built-in.ts';
import { refs } from '../schema/links.ts';
import { putNodes } from '../schema/put.ts';
import { getThread } from './find-thread.ts';
import { readChain } from './thread-chain.ts';
import { WrongThreadState } from './thread-errors.ts';
import { scratchRef } from './thread-id.ts';

/** A node of a thread's store, and the step that took it in; `step` is undefined while it waits for one. */
export type ThreadCasEntry = { hash: NodeHash; step: NodeHash | undefined };

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
