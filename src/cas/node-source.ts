import { UwfError } from '../errors.ts';
import { hashObject } from '../git/format/object-id.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { NodeHash } from './hash.ts';
import type { EncodedNode, Node } from './node.ts';

/** A verified node with its hash and the id of its blob. */
export type StoredNode = Node & { hash: NodeHash; oid: ObjectId };

/** Somewhere nodes can be found by hash: a thread, a repository, memory. */
export interface NodeSource {
  /**
   * Finds a node; `undefined` if this source does not have it.
   *
   * Every read computes the hash again, so the result is always the node that was asked for.
   * @throws {HashMismatch} if what is listed under the hash is another node
   * @throws {HashCollision} if there are two different nodes of this hash here
   */
  find(hash: NodeHash): Promise<StoredNode | undefined>;
}

/** No node of this hash exists where it was looked for. */
export class NodeNotFound extends UwfError {
  readonly hash: NodeHash;
  constructor(hash: NodeHash) {
    super(`there is no node ${hash}`, {
      code: 'node-not-found',
      kind: 'data',
      hint: "check the hash, or run 'uwf reindex' if the node should be in this repository",
    });
    this.hash = hash;
  }
}

/** Two different blobs of one history have the same hash. One was forged: a collision by chance is too unlikely. */
export class HashCollision extends UwfError {
  constructor(hash: NodeHash, oids: readonly [ObjectId, ObjectId]) {
    super(`two different objects, ${oids[0]} and ${oids[1]}, claim to be node ${hash}`, {
      code: 'hash-collision',
      kind: 'data',
      hint: 'find out where the thread came from and do not go on with it',
      facts: { hash, oids },
    });
  }
}

/**
 * Finds a node that has to be there.
 *
 * @throws {NodeNotFound} if it is not
 */
export async function getNode(source: NodeSource, hash: NodeHash): Promise<StoredNode> {
  const node = await source.find(hash);
  if (node === undefined) throw new NodeNotFound(hash);
  return node;
}

/** Looks into several sources, in the order given; the first that has the node answers. */
export function combineSources(...sources: readonly NodeSource[]): NodeSource {
  return {
    async find(hash) {
      for (const source of sources) {
        // In sequence: the first source is cheap and mostly has the node.
        const node = await source.find(hash);
        if (node !== undefined) return node;
      }
      return undefined;
    },
  };
}

/** Nodes in memory, of a write that is being prepared. */
export class MemorySource implements NodeSource {
  readonly #nodes = new Map<NodeHash, EncodedNode>();

  constructor(nodes: Iterable<EncodedNode> = []) {
    for (const node of nodes) this.add(node);
  }

  add(node: EncodedNode): void {
    this.#nodes.set(node.hash, node);
  }

  find(hash: NodeHash): Promise<StoredNode | undefined> {
    const node = this.#nodes.get(hash);
    if (node === undefined) return Promise.resolve(undefined);
    const { type, payload, blob } = node;
    return Promise.resolve({ hash, type, payload, oid: hashObject({ type: 'blob', data: blob }) });
  }
}
