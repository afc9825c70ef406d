import { UwfError } from '../../errors.ts';
import { base32, prepareHashing, type NodeHash } from '../../cas/hash.ts';
import { DamagedSegment } from '../../cas/lookup/page-sums.ts';
import { HASH_BYTES, nodeSize, type Segment } from '../../cas/lookup/segment.ts';
import { mergeRecords, RecordList, type SortedRecords } from '../../cas/lookup/sorted-records.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import { decodeNode } from '../../cas/node.ts';
import { MAX_SCHEMA_BYTES } from '../../cas/node-limits.ts';
import { HashCollision, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import { ObjectTooLarge } from '../../git/format/object-errors.ts';
import { objectIdFromBytes, type ObjectId } from '../../git/format/object-id.ts';
import { readBlob } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { isOfClass, orElse } from '../../or-else.ts';
import { builtIn } from '../../schema/built-in.ts';
import { attempt, type ReportFault } from '../fault.ts';
import { OidTable } from './oid-table.ts';

/**
 * The nodes that a commit of a thread may link to: those of its own tree, of the commits before it, and behind its further
 * parents. Grows while the thread is checked from its start.
 */
export class KnownNodes implements NodeSource {
  readonly #cache: NodeCache;
  readonly #maxNodes: number;
  #oids: OidTable;
  #others: NodeSource[] = [];
  /** Nodes behind further parents whose places are known. */
  readonly #behind = new Map<NodeHash, ObjectId>();
  /** The nodes up to an earlier commit, and a function that reads them again, with those behind further parents. */
  #earlier: { nodes: Segment; recall: () => Promise<unknown> } | undefined;
  #recalled: Promise<unknown> | undefined;

  /** @param maxNodes how many nodes a thread may have; default: no limit */
  constructor(cache: NodeCache, maxNodes: number = Infinity) {
    this.#cache = cache;
    this.#oids = new OidTable(cache.repository.objects.format);
    this.#maxNodes = maxNodes;
  }

  /** How many nodes are in memory. */
  get size(): number {
    return this.#oids.size;
  }

  /** How many nodes the thread has. */
  get count(): number {
    return this.#oids.size + (this.#earlier?.nodes.nodeCount ?? 0);
  }

  /** All nodes of the thread, as a segment has them. */
  get nodes(): SortedRecords {
    const { format } = this.#cache.repository.objects;
    const added = new RecordList(nodeSize(format));
    for (const record of this.#oids.records()) added.add(record);
    const all = [added.sorted(), ...(this.#earlier === undefined ? [] : [this.#earlier.nodes.content.nodes])];
    return () => mergeRecords(all, nodeSize(format));
  }

  /**
   * Looks the nodes up to a commit up in a segment, if it is of that commit, and forgets those in memory that it has.
   *
   * @param recall reads the commit and all before it, and calls {@link recall} and {@link addBehindEarlier}. This is done when the segment is
   *   damaged, or does not have a node, which can then be behind a further parent
   * @param hasAll whether it has all nodes in memory
   * @returns false if the segment is of another commit, or damaged
   */
  standOn(
    nodes: Segment | undefined,
    commit: ObjectId,
    recall: () => Promise<unknown>,
    hasAll: boolean = false,
  ): boolean {
    return orElse(
      () => {
        if (nodes?.covers(commit) !== true) return false;
        const left = new OidTable(this.#cache.repository.objects.format);
        for (const record of hasAll ? [] : this.#oids.records()) {
          const hash = base32(record.readBigUInt64BE(0));
          if (nodes.blobsOf(hash).length === 0) left.set(hash, objectIdFromBytes(record.subarray(HASH_BYTES)));
        }
        this.#oids = left;
        this.#earlier = { nodes, recall };
        return true;
      },
      false,
      isOfClass(DamagedSegment),
    );
  }

  /**
   * Adds a node of the present commit's tree, after its hash was checked.
   * @throws {HashCollision} {UwfError} `too-many-nodes`
   */
  async add(entry: IndexEntry): Promise<StoredNode> {
    const known = await this.#oidOf(entry.hash);
    if (known !== undefined && known !== entry.oid) throw new HashCollision(entry.hash, [known, entry.oid]);
    const node = await this.#cache.read(entry);
    if (known === undefined) this.recall(entry);
    return node;
  }

  /** Adds all nodes of the present commit's tree. @returns those that could be read, by path */
  async addAll(index: readonly IndexEntry[], report: ReportFault): Promise<Map<string, StoredNode>> {
    const nodes = new Map<string, StoredNode>();
    for (const entry of index) {
      const node = await attempt(report, entry.path, () => this.add(entry));
      if (node) nodes.set(entry.path, node);
    }
    return nodes;
  }

  /**
   * Adds a node of an earlier commit, whose hash was checked with that commit.
   * @throws {UwfError} `too-many-nodes`
   */
  recall({ hash, oid }: IndexEntry): void {
    this.#oids.set(hash, oid);
    const maxNodes = this.#maxNodes;
    if (this.count <= maxNodes) return;
    throw new UwfError(`it has more than ${maxNodes} nodes`, {
      code: 'too-many-nodes',
      kind: 'data',
      facts: { maxNodes },
    });
  }

  /** Adds the nodes behind a further parent. */
  addBehind(tip: ObjectId): void {
    this.#others.push(nodesBehind(this.#cache.repository, [tip]));
  }

  /** Adds one node behind a further parent, to which otherwise the whole history may have to be walked. */
  addOneBehind(hash: NodeHash, oid: ObjectId | undefined): void {
    if (oid !== undefined) this.#behind.set(hash, oid);
  }

  /** Adds the nodes behind further parents of earlier commits, oldest first. */
  addBehindEarlier(tips: readonly ObjectId[]): void {
    this.#others = [...tips.map((tip) => nodesBehind(this.#cache.repository, [tip])), ...this.#others];
  }

  /** Tells whether a node is in a commit of the thread itself. */
  async has(hash: NodeHash): Promise<boolean> {
    return (await this.#oidOf(hash)) !== undefined;
  }

  async find(hash: NodeHash): Promise<StoredNode | undefined> {
    const earlier = this.#earlier;
    const oid = await this.#oidOf(hash);
    const known = oid ?? this.#behind.get(hash);
    if (known !== undefined) return this.#cache.read({ hash, oid: known });
    for (const other of this.#others.toReversed()) {
      const node = await other.find(hash);
      if (node !== undefined) return node;
    }
    if (earlier === undefined) return undefined;
    await this.recallAll();
    return this.find(hash);
  }

  /** Reads all commits whose nodes are known only from a segment. */
  async recallAll(): Promise<void> {
    const { recall } = this.#earlier ?? {};
    this.#earlier = undefined;
    this.#recalled = recall?.() ?? this.#recalled;
    await this.#recalled;
  }

  async #oidOf(hash: NodeHash): Promise<ObjectId | undefined> {
    await this.#recalled;
    const oid = this.#oids.get(hash);
    const earlier = this.#earlier;
    if (oid !== undefined || earlier === undefined) return oid;
    const found = orElse(() => earlier.nodes.blobsOf(hash), undefined, isOfClass(DamagedSegment));
    if (found !== undefined) return found[0];
    await this.recallAll();
    return this.#oids.get(hash);
  }
}

/** Caches nodes of one repository whose hash was checked, because many commits share them. */
export class NodeCache {
  readonly repository: Repository;
  readonly #nodes = new Map<ObjectId, StoredNode>();
  #bytes = 0;

  constructor(repository: Repository) {
    this.repository = repository;
  }

  /**
   * @throws {HashMismatch} {NotCanonical} {ObjectMissing} {CorruptObject} if the node is missing, damaged or another one
   * @throws {ObjectTooLarge} if it is a schema that is too large to compile
   */
  async read({ hash, oid }: Pick<IndexEntry, 'hash' | 'oid'>): Promise<StoredNode> {
    const known = this.#nodes.get(oid);
    // With forged hashes, one blob can be claimed to be two nodes.
    if (known?.hash === hash) return known;
    const blob = await readBlob(this.repository.objects, oid);
    await prepareHashing();
    const node = { hash, oid, ...decodeNode(hash, blob) };
    const bytes = blob.byteLength;
    if (schemaTypes.has(node.type) && bytes > MAX_SCHEMA_BYTES) throw new ObjectTooLarge(oid, bytes, MAX_SCHEMA_BYTES);
    this.#keep(node, bytes + ENTRY_BYTES);
    return node;
  }

  /** Keeps a node. Where there is no room for it, all others are forgotten: the few that many commits share are soon back. */
  #keep(node: StoredNode, bytes: number): void {
    if (bytes > MAX_CACHED_BYTES) return;
    if (this.#bytes + bytes > MAX_CACHED_BYTES) {
      this.#nodes.clear();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.#nodes.set(node.oid, node);
  }
}

/** Small, because only a full garbage collection frees objects that live this long. */
const MAX_CACHED_BYTES = 2 * 1024 * 1024;
/** The memory that a node takes beside its bytes, approximately. */
const ENTRY_BYTES = 400;

const schemaTypes: ReadonlySet<NodeHash> = new Set([builtIn['meta-schema'], builtIn['role-schema']]);
