import type { ObjectId } from '../../git/object-id.ts';
import { objectIdFromBytes } from '../../git/object-id.ts';
import { base32 } from '../hash.ts';
import type { NodeHash } from '../hash.ts';

/** Random access to the bytes of a segment. */
export interface SegmentBytes {
  readonly size: number;
  read(position: number, length: number): Buffer;
}

// Header: 8 bytes of magic, then two unsigned 32-bit counts, big-endian. Then the nodes, then the commits, both sorted.
const magic = Buffer.from('UWFLOOK1');
const headerSize = 16;
/** 8 bytes of node hash, 20 bytes of object id. */
export const NODE_SIZE = 28;
/** The 20 bytes of a commit's id. */
export const COMMIT_SIZE = 20;

/**
 * An immutable list of nodes (hash, then the id of a blob that claims to be it) and of the commits they come from.
 *
 * Both lists are sorted by their bytes, so that a search reads a few dozen records however long they are.
 */
export class Segment {
  readonly #bytes: SegmentBytes;
  readonly nodeCount: number;
  readonly commitCount: number;
  #commits: Buffer | undefined;

  /** Opens a segment; `undefined` if the bytes are none, or cut off. */
  static open(bytes: SegmentBytes): Segment | undefined {
    if (bytes.size < headerSize) return undefined;
    const header = bytes.read(0, headerSize);
    if (!header.subarray(0, magic.length).equals(magic)) return undefined;
    const segment = new Segment(bytes, header.readUInt32BE(8), header.readUInt32BE(12));
    const size = headerSize + segment.nodeCount * NODE_SIZE + segment.commitCount * COMMIT_SIZE;
    return size === bytes.size ? segment : undefined;
  }

  private constructor(bytes: SegmentBytes, nodeCount: number, commitCount: number) {
    this.#bytes = bytes;
    this.nodeCount = nodeCount;
    this.commitCount = commitCount;
  }

  /** The nodes whose hash, as 8 bytes, lies between two bounds, both included. */
  *between(low: bigint, high: bigint): Generator<{ hash: NodeHash; oid: ObjectId }> {
    const isBefore = (index: number): boolean => this.#nodeAt(index).readBigUInt64BE(0) < low;
    for (let index = firstNot(this.nodeCount, isBefore); index < this.nodeCount; index++) {
      const node = this.#nodeAt(index);
      const bits = node.readBigUInt64BE(0);
      if (bits > high) return;
      yield { hash: base32(bits), oid: objectIdFromBytes(node.subarray(8)) };
    }
  }

  /** Tells whether the nodes of a commit, and of all its ancestors, are in the lookup since this segment was written. */
  covers(commit: ObjectId): boolean {
    const wanted = Buffer.from(commit, 'hex');
    const commits = this.commits();
    const at = (index: number): Buffer => commits.subarray(index * COMMIT_SIZE, (index + 1) * COMMIT_SIZE);
    const index = firstNot(this.commitCount, (place) => Buffer.compare(at(place), wanted) < 0);
    return index < this.commitCount && at(index).equals(wanted);
  }

  /** All node records, one after the other. */
  nodes(): Buffer {
    return this.#bytes.read(headerSize, this.nodeCount * NODE_SIZE);
  }

  /** All commit records, one after the other; kept, since one update asks for thousands. */
  commits(): Buffer {
    this.#commits ??= this.#bytes.read(headerSize + this.nodeCount * NODE_SIZE, this.commitCount * COMMIT_SIZE);
    return this.#commits;
  }

  #nodeAt(index: number): Buffer {
    return this.#bytes.read(headerSize + index * NODE_SIZE, NODE_SIZE);
  }
}

/**
 * Writes a segment from records in any order, each of them as often as it likes.
 *
 * Equal records give equal bytes.
 */
export function encodeSegment(nodes: readonly Buffer[], commits: readonly Buffer[]): Buffer {
  const sortedNodes = sortedRecords(nodes);
  const sortedCommits = sortedRecords(commits);
  const header = Buffer.alloc(headerSize);
  magic.copy(header);
  header.writeUInt32BE(sortedNodes.length, 8);
  header.writeUInt32BE(sortedCommits.length, 12);
  return Buffer.concat([header, ...sortedNodes, ...sortedCommits]);
}

/** Cuts a run of records of one size into records. */
export function splitRecords(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: bytes.length / size }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}

function sortedRecords(records: readonly Buffer[]): Buffer[] {
  const sorted = records.toSorted((a, b) => Buffer.compare(a, b));
  return sorted.filter((record, index) => index === 0 || !sorted[index - 1]?.equals(record));
}

/** The first index for which `isBefore` does not hold, in a list where it holds for a beginning only. */
function firstNot(count: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
