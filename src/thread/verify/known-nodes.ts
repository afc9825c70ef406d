import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import { HashCollision, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';

/**
 * The nodes that a commit of a thread may link to: those of the commits before it and of its own tree, and what lies
 * behind its further parents. Grows as the thread is gone through from its start.
 */
export class KnownNodes implements NodeSource {
  readonly #repository: Repository;
  readonly #cache: NodeCache;
  readonly #oids = new Map<NodeHash, ObjectId>();
  readonly #others: NodeSource[] = [];

  constructor(repository: Repository, cache: NodeCache) {
    this.#repository = repository;
    this.#cache = cache;
  }

  /** Takes in a node of the tree at hand; it is read, and proved to be that node. @throws {HashCollision} */
  async add(entry: IndexEntry): Promise<StoredNode> {
    const known = this.#oids.get(entry.hash);
    if (known !== undefined && known !== entry.oid) throw new HashCollision(entry.hash, [known, entry.oid]);
    const node = await this.#cache.read(entry);
    this.#oids.set(entry.hash, entry.oid);
    return node;
  }

  /** Takes in all that lies behind a further parent. */
  addBehind(tip: ObjectId): void {
    this.#others.push(nodesBehind(this.#repository, [tip]));
  }

  async find(hash: NodeHash): Promise<StoredNode | undefined> {
    const oid = this.#oids.get(hash);
    if (oid !== undefined) return this.#cache.read({ hash, oid });
    for (const other of this.#others.toReversed()) {
      const node = await other.find(hash);
      if (node !== undefined) return node;
    }
    return undefined;
  }
}

/** Nodes that were read and proved, so that what many commits share is read once. */
export class NodeCache {
  readonly #repository: Repository;
  readonly #nodes = new Map<string, StoredNode>();

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** @throws {HashMismatch} {NotCanonical} {ObjectMissing} {CorruptObject} if it cannot be had or is another */
  async read(entry: Pick<IndexEntry, 'hash' | 'oid'>): Promise<StoredNode> {
    const key = `${entry.hash} ${entry.oid}`;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const node = await readNodeAt(this.#repository, entry);
    if (this.#nodes.size >= MAX_CACHED) this.#nodes.delete(this.#nodes.keys().next().value ?? '');
    this.#nodes.set(key, node);
    return node;
  }
}

const MAX_CACHED = 5_000;
