import { prepareHashing, type NodeHash } from '../../cas/hash.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import { decodeNode } from '../../cas/node.ts';
import { MAX_SCHEMA_BYTES } from '../../cas/node-limits.ts';
import { HashCollision, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import { ObjectTooLarge } from '../../git/object-errors.ts';
import type { ObjectId } from '../../git/object-id.ts';
import { readBlob } from '../../git/read.ts';
import type { Repository } from '../../git/repository.ts';
import { builtIn } from '../../schema/built-in.ts';
import { isSpineFile } from '../spine-files.ts';
import { NotHereYet } from './not-here-yet.ts';
import { OidTable } from './oid-table.ts';

/**
 * The nodes that a commit of a thread may link to: those of the commits before it and of its own tree, and what lies
 * behind its further parents. Grows as the thread is gone through from its start.
 */
export class KnownNodes implements NodeSource {
  readonly #repository: Repository;
  readonly #cache: NodeCache;
  readonly #oids: OidTable;
  readonly #others: NodeSource[] = [];

  /** @param maxNodes how many nodes a thread may have; default: no limit */
  constructor(repository: Repository, cache: NodeCache, maxNodes: number = Infinity) {
    this.#repository = repository;
    this.#cache = cache;
    this.#oids = new OidTable(repository.objects.format, maxNodes);
  }

  /**
   * Takes in a node of the tree at hand; it is read, and proved to be that node.
   * @param root all nodes of the tree
   * @throws {HashCollision} {NotHereYet} {TooManyNodes}
   */
  async add(entry: IndexEntry, root: readonly IndexEntry[] = []): Promise<StoredNode> {
    const known = this.#oids.get(entry.hash);
    if (known !== undefined && known !== entry.oid) throw new HashCollision(entry.hash, [known, entry.oid]);
    try {
      await this.#cache.assertHere(entry, root);
      const node = await this.#cache.read(entry);
      this.#oids.set(entry.hash, entry.oid);
      return node;
    } catch (error) {
      // That it exists is known; whoever needs more of it is told the same.
      if (error instanceof NotHereYet) this.#oids.set(entry.hash, entry.oid);
      throw error;
    }
  }

  /**
   * Takes in a node of a commit before, which was read and proved when that was verified.
   * @throws {TooManyNodes}
   */
  recall({ hash, oid }: IndexEntry): void {
    this.#oids.set(hash, oid);
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
  readonly #nodes = new Map<string, { node: StoredNode; bytes: number }>();
  readonly #leavesOut: boolean;
  #bytes = 0;
  /** Contents that were not fetched yet, and left at that. */
  readonly leftOut: Set<ObjectId> = new Set();

  /** @param leavesOut whether contents that were not fetched yet are left at that */
  constructor(repository: Repository, leavesOut: boolean = false) {
    this.#repository = repository;
    this.#leavesOut = leavesOut;
  }

  /** @throws {NotHereYet} if it is a content that is to be left out for now */
  async assertHere({ path, oid }: IndexEntry, index: readonly IndexEntry[]): Promise<void> {
    if (!this.#leavesOut || (await this.#repository.objects.has(oid))) return;
    const paths = index.map((entry) => entry.path);
    if (isSpineFile(path, paths)) return;
    this.leftOut.add(oid);
    throw new NotHereYet(oid);
  }

  /**
   * @throws {HashMismatch} {NotCanonical} {ObjectMissing} {CorruptObject} if it cannot be had or is another
   * @throws {NotHereYet} if it was left out
   * @throws {ObjectTooLarge} if it is a schema that nobody would compile
   */
  async read({ hash, oid }: Pick<IndexEntry, 'hash' | 'oid'>): Promise<StoredNode> {
    if (this.leftOut.has(oid)) throw new NotHereYet(oid);
    const key = `${hash} ${oid}`;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known.node;
    const blob = await readBlob(this.#repository.objects, oid);
    await prepareHashing();
    const node = { hash, oid, ...decodeNode(hash, blob) };
    const bytes = blob.byteLength;
    if (schemaTypes.has(node.type) && bytes > MAX_SCHEMA_BYTES) throw new ObjectTooLarge(oid, bytes, MAX_SCHEMA_BYTES);
    this.#keep(key, node, bytes);
    return node;
  }

  #keep(key: string, node: StoredNode, bytes: number): void {
    if (bytes > MAX_CACHED_BYTES / 2) return;
    this.#nodes.set(key, { node, bytes });
    this.#bytes += bytes;
    while (this.#nodes.size > MAX_CACHED || this.#bytes > MAX_CACHED_BYTES) {
      const [oldest, dropped] = this.#nodes.entries().next().value ?? [];
      if (oldest === undefined) return;
      this.#nodes.delete(oldest);
      this.#bytes -= dropped?.bytes ?? 0;
    }
  }
}

const MAX_CACHED = 5_000;
/** What lives longer than this takes to come by is garbage that only a full collection frees. */
const MAX_CACHED_BYTES = 2 * 1024 * 1024;

const schemaTypes: ReadonlySet<NodeHash> = new Set([builtIn['meta-schema'], builtIn['role-schema']]);
