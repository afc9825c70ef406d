import { join } from 'node:path';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommitNodes } from '../commit-nodes.ts';
import { hashBits } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { DiskSegments } from './disk-segments.ts';
import { NodeCollector } from './node-collector.ts';
import { DamagedSegment } from './page-sums.ts';
import { commitSize, mergeSegments, nodeSize } from './segment.ts';
import type { SegmentContent } from './segment.ts';
import { MemorySegments } from './segment-store.ts';
import type { NamedSegment, SegmentStore } from './segment-store.ts';

/** A node that the lookup knows of. Whether the blob is there, and is that node, is for the reader to check. */
type Candidate = { hash: NodeHash; oid: ObjectId };

/** The blobs that claim to be each node. */
type Unclaimed = ReadonlyMap<NodeHash, readonly ObjectId[]>;

/** Segments that were added, and the commits at which reading stopped because they were known. */
type Added = { names: string[]; covered: ReadonlySet<ObjectId> };

const prefixes = ['refs/threads/', 'refs/history/', 'refs/workflows/', 'refs/uwf/'];
/** Nodes put and not yet taken in. They can be dropped again, so segments, which forget nothing, leave them out. */
const volatileRef = /^refs\/uwf\/(?:scratch\/.+|pins)$/;
const MAX_SEGMENTS = 8;
const MAX_ATTEMPTS = 10;

/**
 * Knows for every node of a repository which blobs claim to be it.
 *
 * Derived from the refs and never the truth: it is brought up to date when a search finds nothing, lies in
 * `<state folder>/lookup` as immutable segments that several processes may write at once, and can be deleted at any time.
 * Where one is damaged all are forgotten and worked out again: what stands on it would hide what it no longer tells.
 */
export class Lookup {
  readonly #repository: Repository;
  readonly #memory = new MemorySegments();
  #store: SegmentStore;
  /** What was put, and the commits that have it. */
  #unclaimed: { at: string; nodes: Unclaimed } = { at: '', nodes: new Map() };
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository) {
    this.#repository = repository;
    const { stateDir } = repository;
    this.#store = stateDir === undefined ? this.#memory : new DiskSegments(join(stateDir, 'lookup'));
  }

  /** The blobs that are known already to claim to be a node. */
  knownBlobs(hash: NodeHash): ObjectId[] {
    try {
      const found: ObjectId[] = [];
      for (const store of [this.#store, this.#memory]) {
        for (const { segment } of store.known()) found.push(...segment.blobsOf(hash));
      }
      // Segments that overlap give one twice.
      return found.length > 1 ? [...new Set(found)] : found;
    } catch (error) {
      this.#forgetIfDamaged(error);
      return [];
    }
  }

  /** All nodes that the refs reach whose 64 bits lie between two bounds, both included. */
  between(low: bigint, high: bigint): Promise<Candidate[]> {
    return this.#mending(async () => {
      await this.update();
      const found = new Map<string, Candidate>();
      for (const { segment } of [...this.#store.known(), ...this.#memory.known()]) {
        for (const node of segment.between(low, high)) found.set(`${node.hash} ${node.oid}`, node);
      }
      return [...found.values()];
    });
  }

  /** Nodes put and not yet taken in, between two bounds. */
  async unclaimed(low: bigint, high: bigint): Promise<Candidate[]> {
    const put = await this.#readUnclaimed();
    return [...put].flatMap(([hash, oids]) => (isBetween(hash, low, high) ? oids.map((oid) => ({ hash, oid })) : []));
  }

  /** The blobs that claim to be a node put and not yet taken in. */
  async unclaimedBlobs(hash: NodeHash): Promise<readonly ObjectId[]> {
    return (await this.#readUnclaimed()).get(hash) ?? [];
  }

  /** Reads the nodes put and not yet taken in, where a ref has moved since the last time. */
  async #readUnclaimed(): Promise<Unclaimed> {
    const refs = (await this.#repository.refs.list('refs/uwf/')).filter(({ name }) => volatileRef.test(name));
    const at = refs.map(({ id }) => id).join(' ');
    if (this.#unclaimed.at === at) return this.#unclaimed.nodes;
    const nodes = new Map<NodeHash, ObjectId[]>();
    for (const { id } of refs) {
      const { entries = [] } = await readCommitNodes(this.#repository, id);
      for (const { hash, oid } of entries) {
        const oids = nodes.get(hash) ?? [];
        nodes.set(hash, oids);
        if (!oids.includes(oid)) oids.push(oid);
      }
    }
    this.#unclaimed = { at, nodes };
    return nodes;
  }

  /** Takes in what the refs reach and no segment covers; searches at the same moment wait for one another. */
  update(): Promise<void> {
    const update = this.#turn.then(() => this.#mending(() => this.#takeInNew()));
    this.#turn = update.catch(() => undefined);
    return update;
  }

  /**
   * Works everything out again from the refs, and forgets what was known before.
   *
   * Killed on the way it leaves what it had found until then, which is right as far as it goes.
   * @returns how many commits and how many different nodes are known
   */
  rebuild(): Promise<{ commits: number; nodes: number }> {
    const rebuild = this.#turn.then(async () => {
      this.#forget();
      return this.#mending(async () => {
        await this.#takeInNew();
        this.#merge(1);
        return this.#count();
      });
    });
    this.#turn = rebuild.catch(() => undefined);
    return rebuild;
  }

  #segments(): readonly NamedSegment[] {
    return this.#store === this.#memory ? this.#memory.list() : [...this.#store.list(), ...this.#memory.list()];
  }

  async #takeInNew(): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { names, covered } = await this.#addNew();
      if (names.length === 0) return;
      // A rebuild in another process may have removed what these segments stand on. Left alone, they would hide that
      // their ancestors are unknown.
      const segments = this.#segments();
      if ([...covered].every((id) => isCovered(segments, id))) return this.#merge(MAX_SEGMENTS);
      this.#store.remove(names);
      this.#memory.remove(names);
    }
  }

  /** Removes all segments, those too that others write meanwhile on top of what is being removed. */
  #forget(): void {
    this.#memory.clear();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && this.#clearStore(); attempt++);
  }

  #clearStore(): boolean {
    try {
      return this.#store.clear();
    } catch {
      // Segments that cannot be removed cannot be trusted: this process uses only what it works out itself.
      this.#store = this.#memory;
      return false;
    }
  }

  #forgetIfDamaged(error: unknown): void {
    if (!(error instanceof DamagedSegment)) throw error;
    this.#forget();
  }

  /** Does work that reads segments; where one is damaged, again without any. */
  async #mending<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) throw error;
        this.#forgetIfDamaged(error);
      }
    }
  }

  /** Adds segments of all commits from the tips down to those that are covered already. */
  async #addNew(): Promise<Added> {
    const names: string[] = [];
    const collector = new NodeCollector(this.#repository);
    let segments = this.#segments();
    for (const tip of await this.#tips()) {
      await collector.readDown(tip, (id) => isCovered(segments, id));
      // Not before: what a segment covers is known with all that lies behind it.
      if (!collector.isFull) continue;
      names.push(collector.take((content) => this.#add(content)));
      segments = this.#segments();
    }
    if (!collector.isEmpty) names.push(collector.take((content) => this.#add(content)));
    return { names, covered: collector.covered };
  }

  async #tips(): Promise<ObjectId[]> {
    const tips: ObjectId[] = [];
    for (const prefix of prefixes) {
      const refs = await this.#repository.refs.list(prefix);
      tips.push(...refs.filter(({ name }) => !volatileRef.test(name)).map(({ id }) => id));
    }
    return tips;
  }

  #add(content: SegmentContent): string {
    try {
      return this.#store.add(content);
    } catch {
      // A full or read-only disk must not prevent reading: this process keeps in memory what it found.
      return this.#memory.add(content);
    }
  }

  /**
   * Merges the smaller segments once there are more than `most`; a large one is only touched when the rest has grown to
   * half of it, or when there is to be one alone.
   */
  #merge(most: number): void {
    const size = ({ segment }: NamedSegment): number => segment.nodeCount + segment.commitCount;
    const segments = this.#store.list().toSorted((a, b) => size(a) - size(b));
    if (segments.length <= most) return;
    let sum = 0;
    const sums = segments.map((segment) => (sum += size(segment)));
    const last = segments.findLastIndex((segment, index) => size(segment) <= 2 * (sums[index - 1] ?? 0));
    const merged = most === 1 ? segments : segments.slice(0, Math.max(last, 1) + 1);
    const parts = merged.map(({ segment }) => segment);
    try {
      const name = this.#store.add(mergeSegments(parts, this.#repository.objects.format));
      // In this order, so that at no moment less is covered than before.
      this.#store.remove(merged.map((segment) => segment.name).filter((other) => other !== name));
    } catch (error) {
      if (error instanceof DamagedSegment) throw error;
      // Too many segments are slower, not wrong.
    }
  }

  #count(): { commits: number; nodes: number } {
    const { format } = this.#repository.objects;
    const parts = this.#segments().map(({ segment }) => segment);
    const { nodes, commits } = mergeSegments(parts, format);
    let nodeCount = 0;
    let commitCount = 0;
    let [lastHigh, lastLow] = [-1, -1];
    for (const block of nodes()) {
      for (let at = 0; at < block.length; at += nodeSize(format)) {
        const [high, low] = [block.readUInt32BE(at), block.readUInt32BE(at + 4)];
        // Several blobs may claim to be one node.
        if (high !== lastHigh || low !== lastLow) nodeCount += 1;
        [lastHigh, lastLow] = [high, low];
      }
    }
    for (const block of commits()) commitCount += block.length / commitSize(format);
    return { commits: commitCount, nodes: nodeCount };
  }
}

function isCovered(segments: readonly NamedSegment[], id: ObjectId): boolean {
  return segments.some(({ segment }) => segment.covers(id));
}

function isBetween(hash: NodeHash, low: bigint, high: bigint): boolean {
  const bits = hashBits(hash);
  return bits >= low && bits <= high;
}
