import { join } from 'node:path';
import { ObjectMissing } from '../../git/object-errors.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommitNodes } from '../commit-nodes.ts';
import { hashBits } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { commitSize, encodeSegment, nodeSize, splitRecords } from './segment.ts';
import { DiskSegments, MemorySegments } from './segment-store.ts';
import type { NamedSegment, SegmentStore } from './segment-store.ts';

/** A node that the lookup knows of. Whether the blob is there, and is that node, is for the reader to check. */
export type Candidate = { hash: NodeHash; oid: ObjectId };

/** Records of the nodes and commits that were read, and the commits at which reading stopped because they are known. */
type Collected = { nodes: Buffer[]; commits: Buffer[]; covered: ObjectId[] };

const prefixes = ['refs/threads/', 'refs/history/', 'refs/workflows/', 'refs/uwf/'];
/** Nodes put and not yet taken in. They can be dropped again, so segments, which forget nothing, leave them out. */
const volatileRef = /^refs\/uwf\/(?:scratch\/.+|pins)$/;
const maxSegments = 8;
const maxAttempts = 10;

/**
 * Knows for every node of a repository which blobs claim to be it.
 *
 * Derived from the refs and never the truth: it is brought up to date when a search finds nothing, lies in
 * `<state folder>/lookup` as immutable segments that several processes may write at once, and can be deleted at any time.
 */
export class Lookup {
  readonly #repository: Repository;
  readonly #memory = new MemorySegments();
  readonly #store: SegmentStore;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository) {
    this.#repository = repository;
    const { stateDir } = repository;
    this.#store = stateDir === undefined ? this.#memory : new DiskSegments(join(stateDir, 'lookup'));
  }

  /** What is known already of the nodes whose 64 bits lie between two bounds, both included. */
  known(low: bigint, high: bigint): Candidate[] {
    const found = new Map<string, Candidate>();
    for (const { segment } of this.#segments()) {
      for (const node of segment.between(low, high)) found.set(`${node.hash} ${node.oid}`, node);
    }
    return [...found.values()];
  }

  /** Nodes put and not yet taken in, between two bounds. Read from the refs at every call. */
  async unclaimed(low: bigint, high: bigint): Promise<Candidate[]> {
    const found: Candidate[] = [];
    for (const ref of await this.#repository.refs.list('refs/uwf/')) {
      if (!volatileRef.test(ref.name)) continue;
      const { entries } = await readCommitNodes(this.#repository, ref.id);
      found.push(...(entries ?? []).filter(({ hash }) => isBetween(hash, low, high)));
    }
    return found;
  }

  /** Takes in what the refs reach and no segment covers; searches at the same moment wait for one another. */
  update(): Promise<void> {
    const update = this.#turn.then(() => this.#takeInNew());
    this.#turn = update.catch(() => undefined);
    return update;
  }

  /**
   * Works everything out again from the refs, and forgets what was known before.
   *
   * @returns how many commits were read, and how many different nodes they hold
   */
  rebuild(): Promise<{ commits: number; nodes: number }> {
    const rebuild = this.#turn.then(async () => {
      this.#forget();
      const found = await this.#collect([]);
      this.#add(this.#encode(found.nodes, found.commits));
      const hashes = new Set(found.nodes.map((record) => record.readBigUInt64BE(0)));
      return { commits: found.commits.length, nodes: hashes.size };
    });
    this.#turn = rebuild.catch(() => undefined);
    return rebuild;
  }

  #segments(): readonly NamedSegment[] {
    return this.#store === this.#memory ? this.#memory.list() : [...this.#store.list(), ...this.#memory.list()];
  }

  async #takeInNew(): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const found = await this.#collect(this.#segments());
      if (found.commits.length === 0) return;
      const name = this.#add(this.#encode(found.nodes, found.commits));
      // A rebuild in another process may have removed what this segment stands on. Left alone, it would hide that its
      // ancestors are unknown.
      const segments = this.#segments();
      if (found.covered.every((id) => isCovered(segments, id))) return this.#merge();
      this.#store.remove([name]);
      this.#memory.remove([name]);
    }
  }

  /** Removes all segments, those too that others write meanwhile on top of what is being removed. */
  #forget(): void {
    for (let attempt = 1; attempt <= maxAttempts && this.#segments().length > 0; attempt++) {
      for (const store of [this.#store, this.#memory]) store.remove(store.list().map(({ name }) => name));
    }
  }

  /** Reads all commits from the tips down to those that the given segments cover. */
  async #collect(segments: readonly NamedSegment[]): Promise<Collected> {
    const nodes: Buffer[] = [];
    const commits: Buffer[] = [];
    const covered: ObjectId[] = [];
    const met = new Set<ObjectId>();
    const pending = await this.#tips();
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      if (met.has(id)) continue;
      met.add(id);
      if (isCovered(segments, id)) {
        covered.push(id);
        continue;
      }
      const commit = await this.#readCommit(id);
      if (commit === undefined) continue;
      commits.push(Buffer.from(id, 'hex'));
      // The user's own commits are taken note of, but neither they nor what lies behind them hold nodes.
      if (commit.entries === undefined) continue;
      for (const { hash, oid } of commit.entries) nodes.push(encodeNodeRecord(hash, oid));
      pending.push(...commit.parents);
    }
    return { nodes, commits, covered };
  }

  async #readCommit(id: ObjectId): Promise<Awaited<ReturnType<typeof readCommitNodes>> | undefined> {
    try {
      return await readCommitNodes(this.#repository, id);
    } catch (error) {
      // The end of a shallow history (deepened later, it takes a rebuild), or a thread that was removed and collected
      // while we were reading.
      if (error instanceof ObjectMissing) return undefined;
      throw error;
    }
  }

  async #tips(): Promise<ObjectId[]> {
    const tips: ObjectId[] = [];
    for (const prefix of prefixes) {
      const refs = await this.#repository.refs.list(prefix);
      tips.push(...refs.filter(({ name }) => !volatileRef.test(name)).map(({ id }) => id));
    }
    return tips;
  }

  #encode(nodes: readonly Buffer[], commits: readonly Buffer[]): Buffer {
    return encodeSegment(nodes, commits, this.#repository.objects.format);
  }

  #add(bytes: Buffer): string {
    try {
      return this.#store.add(bytes);
    } catch {
      // A full or read-only disk must not keep anybody from reading: what was found serves this process at least.
      return this.#memory.add(bytes);
    }
  }

  /** Merges the smaller segments once there are many; a large one is only touched when the rest has grown to half of it. */
  #merge(): void {
    const size = ({ segment }: NamedSegment): number => segment.nodeCount + segment.commitCount;
    const segments = this.#store.list().toSorted((a, b) => size(a) - size(b));
    if (segments.length <= maxSegments) return;
    let sum = 0;
    const sums = segments.map((segment) => (sum += size(segment)));
    const last = segments.findLastIndex((segment, index) => size(segment) <= 2 * (sums[index - 1] ?? 0));
    const merged = segments.slice(0, Math.max(last, 1) + 1);
    const { format } = this.#repository.objects;
    const bytes = this.#encode(
      merged.flatMap(({ segment }) => splitRecords(segment.nodes(), nodeSize(format))),
      merged.flatMap(({ segment }) => splitRecords(segment.commits(), commitSize(format))),
    );
    try {
      const name = this.#store.add(bytes);
      // In this order, so that at no moment less is covered than before.
      this.#store.remove(merged.map((segment) => segment.name).filter((other) => other !== name));
    } catch {
      // Too many segments are slower, not wrong.
    }
  }
}

function isCovered(segments: readonly NamedSegment[], id: ObjectId): boolean {
  return segments.some(({ segment }) => segment.covers(id));
}

function encodeNodeRecord(hash: NodeHash, oid: ObjectId): Buffer {
  const record = Buffer.alloc(8 + oid.length / 2);
  record.writeBigUInt64BE(hashBits(hash));
  record.write(oid, 8, 'hex');
  return record;
}

function isBetween(hash: NodeHash, low: bigint, high: bigint): boolean {
  const bits = hashBits(hash);
  return bits >= low && bits <= high;
}
