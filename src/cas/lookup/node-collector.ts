import { ObjectMissing } from '../../git/format/object-errors.ts';
import { hashObject, type ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommitNodesOnce, type CommitNodes } from '../commit-nodes.ts';
import { hashBits } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { commitSize, HASH_BYTES, nodeSize } from './segment.ts';
import type { SegmentContent } from './segment.ts';
import { RecordList } from './sorted-records.ts';
import { inPlaceOf } from '../../or-else.ts';

/** A segment is written when this many nodes and commits have been collected. */
const fullSegment = 64 * 1024;

/** Reads commits from tips down to those that are covered already, and collects their nodes and ids for a segment. */
export class NodeCollector {
  /** Commits at which reading stopped because a segment covers them. The new segment relies on that. */
  readonly covered: Set<ObjectId> = new Set();
  readonly #repository: Repository;
  readonly #nodes: RecordList;
  readonly #commits: RecordList;
  /** The bytes of ids, one per character. The id itself is a slice of its commit's text, and would keep that text in memory. */
  readonly #met: Set<string> = new Set();
  /** The tree of the commits that keep the ends of archived threads. */
  readonly #emptyTree: ObjectId;

  constructor(repository: Repository) {
    this.#repository = repository;
    const { format } = repository.objects;
    this.#nodes = new RecordList(nodeSize(format));
    this.#commits = new RecordList(commitSize(format));
    this.#emptyTree = hashObject({ type: 'tree', data: Buffer.alloc(0) }, format);
  }

  get isEmpty(): boolean {
    return this.#commits.length === 0;
  }

  get isFull(): boolean {
    return this.#nodes.length + this.#commits.length >= fullSegment;
  }

  /** Reads a commit and its ancestors. */
  async readDown(tip: ObjectId, isCovered: (id: ObjectId) => boolean): Promise<void> {
    if (this.#met.has(rawBytes(tip).toString('latin1')) || isCovered(tip)) return;
    const pending = [tip];
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      const bytes = rawBytes(id);
      const key = bytes.toString('latin1');
      if (this.#met.has(key)) continue;
      this.#met.add(key);
      if (isCovered(id)) {
        this.covered.add(id);
        continue;
      }
      // Missing is the end of a shallow history (deepened later, it takes a rebuild), or a thread that was removed and
      // collected while we were reading.
      const commit = await this.#read(id).catch(inPlaceOf(ObjectMissing, undefined));
      if (commit === undefined) continue;
      this.#commits.add(bytes);
      // The user's own commits are recorded, but neither they nor their ancestors hold nodes.
      if (commit.entries === undefined && !commit.isEmpty) continue;
      for (const { hash, oid } of commit.entries ?? []) this.#nodes.add(encodeNodeRecord(hash, oid));
      pending.push(...commit.parents);
    }
  }

  /**
   * Reading goes on behind every commit with the empty tree, also behind one of the user's own: what is covered behind a
   * commit must not depend on the ref from which it was reached first.
   */
  async #read(id: ObjectId): Promise<CommitNodes & { isEmpty: boolean }> {
    const commit = await readCommit(this.#repository.objects, id);
    const nodes = await readCommitNodesOnce(this.#repository, id, commit);
    return { ...nodes, isEmpty: commit.tree === this.#emptyTree };
  }

  /** Passes the collected records to `use`, then clears them. They are valid only until `use` returns. */
  take<Result>(use: (content: SegmentContent) => Result): Result {
    const { format } = this.#repository.objects;
    const result = use({ format, nodes: this.#nodes.sorted(), commits: this.#commits.sorted() });
    // Cleared, not replaced: the memory of the last segment is used again for the next one.
    this.#nodes.clear();
    this.#commits.clear();
    this.#met.clear();
    return result;
  }
}

function rawBytes(id: ObjectId): Buffer {
  return Buffer.from(id, 'hex');
}

function encodeNodeRecord(hash: NodeHash, oid: ObjectId): Buffer {
  const record = Buffer.allocUnsafe(HASH_BYTES + oid.length / 2);
  record.writeBigUInt64BE(hashBits(hash));
  record.write(oid, HASH_BYTES, 'hex');
  return record;
}
