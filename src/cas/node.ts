// The room cas: a value with a type comes in and goes out as a node, whose hash is its address. `canonical.ts` writes
// each value in one way, `hash.ts` hashes it, `commit-nodes.ts` has the nodes of a commit, and `lookup.ts` finds a
// node of the repository by its hash. Nothing here knows what a type means: the room schema validates. A node may be
// missing, too large, or not have the content that its hash says; each read hashes again, so a damaged node is an
// error and never a value.

import { UwfError } from '../errors.ts';
import { hashObject, type ObjectId } from '../git/format/object-id.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import { orElse } from '../or-else.ts';
import { assertJsonValue, canonicalJson } from './canonical.ts';
import { hashNode, isNodeHash, type NodeHash } from './hash.ts';
import { CONTENT_TYPE } from './node-hash.ts';

/** A value and the schema that describes it. */
export type Node = {
  /** The hash of the schema node that describes the payload. */
  type: NodeHash;
  payload: JsonValue;
};

/** A node with its address and the bytes it is stored as. */
export type EncodedNode = Node & { hash: NodeHash; blob: Uint8Array };

/** The blob stored under a hash is another node, or not a node. */
export class HashMismatch extends UwfError {
  constructor(hash: NodeHash, reason: string) {
    super(`what is stored as node ${hash} is something else: ${reason}`, {
      code: 'hash-mismatch',
      kind: 'data',
      hint: "the data was changed or forged; run 'uwf fsck' and fetch the thread again",
      facts: { hash },
    });
  }
}

/** A blob has the right value but is not canonical JSON: other spacing, another order of keys, a repeated key. */
export class NotCanonical extends UwfError {
  constructor(hash: NodeHash) {
    super(`node ${hash} is not stored in its canonical form`, {
      code: 'not-canonical',
      kind: 'data',
      hint: 'it was not written by uwf; store the node again',
      facts: { hash },
    });
  }
}

/**
 * Encodes a node: its hash, and the blob that stands for it.
 *
 * The blob is canonical JSON of `{"payload": …, "type": …}`; a content node of text alone is that text in UTF-8, so that
 * a reply is a readable file. The payload that comes back is the one a reader of the blob gets: detached from the value
 * handed in, with its keys in order.
 * @throws {NotJson} if the payload is no JSON
 */
export function encodeNode(type: NodeHash, payload: JsonValue): EncodedNode {
  assertJsonValue(payload);
  const hash = hashNode(type, payload);
  const text = rawTextOf(type, payload);
  if (text !== undefined) return { hash, type, payload: { text }, blob: new TextEncoder().encode(text) };
  const json = canonicalJson({ payload, type });
  const stored: Node = JSON.parse(json);
  return { hash, type, payload: stored.payload, blob: new TextEncoder().encode(json) };
}

/**
 * Reads a node from its blob and proves that it is the one asked for: the hash is computed again.
 *
 * Whether the blob is JSON or the raw text of a content node is decided by which of the two readings gives the hash.
 * @throws {HashMismatch} if neither does
 * @throws {NotCanonical} if a reading does, but uwf would have written other bytes
 */
export function decodeNode(hash: NodeHash, blob: Uint8Array): Node {
  const text = orElse(() => utf8.decode(blob), undefined);
  if (text === undefined) throw new HashMismatch(hash, 'it is not UTF-8');
  const raw: Node = { type: CONTENT_TYPE, payload: { text } };
  const node = [readJson(text), raw].find(
    (reading) => reading !== undefined && hashNode(reading.type, reading.payload) === hash,
  );
  if (node === undefined) throw new HashMismatch(hash, 'neither its text nor its JSON has this hash');
  if (!isSameText(node, text)) throw new NotCanonical(hash);
  return node;
}

/** The text of a content node that holds nothing else, which is stored as it is; `undefined` for every other node. */
function rawTextOf(type: NodeHash, payload: JsonValue): string | undefined {
  if (type !== CONTENT_TYPE || !isJsonObject(payload)) return undefined;
  const { text, ...others } = payload;
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : undefined;
}

// `ignoreBOM` is the switch that keeps a byte order mark in the text.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readJson(text: string): Node | undefined {
  // Canonical JSON of a node starts with a brace. Most replies do not, and need no parsing.
  if (!text.startsWith('{')) return undefined;
  return orElse(() => {
    const value: unknown = JSON.parse(text);
    assertJsonValue(value);
    if (!isJsonObject(value) || Object.keys(value).length !== 2) return undefined;
    const { type, payload } = value;
    return isNodeHash(type) && payload !== undefined ? { type, payload } : undefined;
  }, undefined);
}

function isSameText(node: Node, text: string): boolean {
  const raw = rawTextOf(node.type, node.payload);
  return raw === undefined ? canonicalJson({ payload: node.payload, type: node.type }) === text : raw === text;
}

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

/** Finds a node that has to be there. @throws {NodeNotFound} if it is not */
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
