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

/** An entry of the lookup. The reader has to check that the blob exists and is that node. */
type Candidate = { hash: NodeHash; oid: ObjectId };

/** The blobs that claim to be each node. */
type Unclaimed = ReadonlyMap<NodeHash, readonly ObjectId[]>;

/** Segments that were added, and the commits at which reading stopped because other segments cover them. */
type Added = { names: string[]; covered: ReadonlySet<ObjectId> };

const prefixes = ['refs/threads/', 'refs/history/', 'refs/workflows/', 'refs/uwf/'];
/** Refs of nodes that no step has taken in yet. They can be dropped again, so segments, which only grow, leave them out. */
const volatileRef = /^refs\/uwf\/(?:scratch\/.+|pins)$/;
const MAX_SEGMENTS = 8;
const MAX_ATTEMPTS = 10;

/**
 * Maps the hash of every node of a repository to the blobs that claim to be it.
 *
 * A cache of data in the refs, updated when a search finds nothing. It lies in `<state folder>/lookup` as immutable segments,
 * which several processes may write at once, and can be deleted at any time.
 * If one segment is damaged, all are removed and rebuilt: later segments rely on its commits, and would hide the gap.
 */
export class Lookup {
  readonly #repository: Repository;
  readonly #memory = new MemorySegments();
  #store: SegmentStore;
  /** The nodes at scratch refs, and the tips of these refs when they were read. */
  #unclaimed: { at: string; nodes: Unclaimed } = { at: '', nodes: new Map() };
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository) {
    this.#repository = repository;
    const { stateDir } = repository;
    this.#store = stateDir === undefined ? this.#memory : new DiskSegments(join(stateDir, 'lookup'));
  }

  /** The blobs that claim to be a node, by the lookup as it is: it is not updated. */
  knownBlobs(hash: NodeHash): ObjectId[] {
    return this.#askKnown((segments) => blobsIn(segments, hash)) ?? [];
  }

  /**
   * The blobs that claim to be a node, by the lookup as it is, if it has the nodes of a commit and of all commits that this one reaches;
   * else `undefined`.
   */
  blobsUpTo(commit: ObjectId, hash: NodeHash): ObjectId[] | undefined {
    return this.#askKnown((segments) => (isCovered(segments, commit) ? blobsIn(segments, hash) : undefined));
  }

  /** Asks the segments of the last listing. If one is damaged, forgets all; the answer is `undefined` then. */
  #askKnown<T>(question: (segments: readonly NamedSegment[]) => T): T | undefined {
    try {
      return question([...new Set([this.#store, this.#memory])].flatMap((store) => store.known()));
    } catch (error) {
      this.#forgetIfDamaged(error);
      return undefined;
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

  /** Nodes at scratch refs, between two bounds, both included. */
  async unclaimed(low: bigint, high: bigint): Promise<Candidate[]> {
    const put = await this.#readUnclaimed();
    return [...put].flatMap(([hash, oids]) => (isBetween(hash, low, high) ? oids.map((oid) => ({ hash, oid })) : []));
  }

  /** The blobs at scratch refs that claim to be a node. */
  async unclaimedBlobs(hash: NodeHash): Promise<readonly ObjectId[]> {
    return (await this.#readUnclaimed()).get(hash) ?? [];
  }

  /** Reads the nodes at scratch refs, if one of these refs has moved since the last time. */
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

  /** Adds the commits that the refs reach and no segment covers. Concurrent updates run one after another. */
  update(): Promise<void> {
    const update = this.#turn.then(() => this.#mending(() => this.#takeInNew()));
    this.#turn = update.catch(() => undefined);
    return update;
  }

  /**
   * Removes all segments and builds them again from the refs.
   *
   * If the process is killed, the segments written so far stay. They are correct, and the next update adds the rest.
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
      // A rebuild in another process may have removed segments that cover the ancestors of these. If they stayed, they
      // would hide that those ancestors are missing.
      const segments = this.#segments();
      if ([...covered].every((id) => isCovered(segments, id))) return this.#merge(MAX_SEGMENTS);
      this.#store.remove(names);
      this.#memory.remove(names);
    }
  }

  /** Removes all segments, also those that other processes add meanwhile: these rely on the removed ones. */
  #forget(): void {
    this.#memory.clear();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && this.#clearStore(); attempt++);
  }

  #clearStore(): boolean {
    try {
      return this.#store.clear();
    } catch {
      // Segments that cannot be removed cannot be trusted: this process builds its own in memory.
      this.#store = this.#memory;
      return false;
    }
  }

  #forgetIfDamaged(error: unknown): void {
    if (!(error instanceof DamagedSegment)) throw error;
    this.#forget();
  }

  /** Does work that reads segments. If one is damaged, removes all and does the work again. */
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
      // Only between tips: a segment may cover a commit only if the nodes of all its ancestors are in the lookup.
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
      // A full or read-only disk must not prevent reading: this process keeps the segment in memory.
      return this.#memory.add(content);
    }
  }

  /**
   * Merges the smaller segments once there are more than `most`. A large one is merged only if the others together have
   * grown to half its size, or if a single segment is wanted.
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
      // Removed after the merged one was added, so that at no moment fewer commits are covered.
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

function blobsIn(segments: readonly NamedSegment[], hash: NodeHash): ObjectId[] {
  const found = segments.flatMap(({ segment }) => segment.blobsOf(hash));
  // Segments that overlap give one twice.
  return found.length > 1 ? [...new Set(found)] : found;
}

function isCovered(segments: readonly NamedSegment[], id: ObjectId): boolean {
  return segments.some(({ segment }) => segment.covers(id));
}

function isBetween(hash: NodeHash, low: bigint, high: bigint): boolean {
  const bits = hashBits(hash);
  return bits >= low && bits <= high;
}
