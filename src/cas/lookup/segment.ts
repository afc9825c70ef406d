import type { ObjectFormat, ObjectId } from '../../git/object-id.ts';
import { objectIdBytes, objectIdFromBytes } from '../../git/object-id.ts';
import { base32 } from '../hash.ts';
import type { NodeHash } from '../hash.ts';

/** Random access to the bytes of a segment. */
export interface SegmentBytes {
  readonly size: number;
  read(position: number, length: number): Buffer;
}

// Header: 8 bytes of magic, then two unsigned 32-bit counts, big-endian. Then the nodes, then the commits, both sorted.
const magics: Readonly<Record<ObjectFormat, Buffer>> = {
  sha1: Buffer.from('UWFLOOK1'),
  sha256: Buffer.from('UWFLOOK2'),
};
const magicSize = 8;
const headerSize = 16;

/** The bytes of a node's record: 8 of its hash, then the object id. */
export function nodeSize(format: ObjectFormat): number {
  return 8 + objectIdBytes(format);
}

/** The bytes of a commit's record: its id. */
export function commitSize(format: ObjectFormat): number {
  return objectIdBytes(format);
}

/**
 * An immutable list of nodes (hash, then the id of a blob that claims to be it) and of the commits they come from.
 *
 * Both lists are sorted by their bytes, so that a search reads a few dozen records however long they are.
 */
export class Segment {
  readonly #bytes: SegmentBytes;
  readonly nodeCount: number;
  readonly commitCount: number;
  readonly #nodeSize: number;
  readonly #commitSize: number;
  #commits: Buffer | undefined;

  /** Opens a segment; `undefined` if the bytes are none, or cut off. */
  static open(bytes: SegmentBytes): Segment | undefined {
    if (bytes.size < headerSize) return undefined;
    const header = bytes.read(0, headerSize);
    const format = header.subarray(0, magicSize).equals(magics.sha256) ? 'sha256' : 'sha1';
    if (!header.subarray(0, magicSize).equals(magics[format])) return undefined;
    const segment = new Segment(bytes, header, format);
    const size = headerSize + segment.nodeCount * nodeSize(format) + segment.commitCount * commitSize(format);
    return size === bytes.size ? segment : undefined;
  }

  private constructor(bytes: SegmentBytes, header: Buffer, format: ObjectFormat) {
    this.#bytes = bytes;
    this.nodeCount = header.readUInt32BE(8);
    this.commitCount = header.readUInt32BE(12);
    this.#nodeSize = nodeSize(format);
    this.#commitSize = commitSize(format);
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
    const at = (index: number): Buffer => commits.subarray(index * this.#commitSize, (index + 1) * this.#commitSize);
    const index = firstNot(this.commitCount, (place) => Buffer.compare(at(place), wanted) < 0);
    return index < this.commitCount && at(index).equals(wanted);
  }

  /** All node records, one after the other. */
  nodes(): Buffer {
    return this.#bytes.read(headerSize, this.nodeCount * this.#nodeSize);
  }

  /** All commit records, one after the other; kept, since one update asks for thousands. */
  commits(): Buffer {
    this.#commits ??= this.#bytes.read(
      headerSize + this.nodeCount * this.#nodeSize,
      this.commitCount * this.#commitSize,
    );
    return this.#commits;
  }

  #nodeAt(index: number): Buffer {
    return this.#bytes.read(headerSize + index * this.#nodeSize, this.#nodeSize);
  }
}

/**
 * Writes a segment from records in any order, each of them as often as it likes.
 *
 * Equal records give equal bytes.
 */
export function encodeSegment(
  nodes: readonly Buffer[],
  commits: readonly Buffer[],
  format: ObjectFormat = 'sha1',
): Buffer {
  const sortedNodes = sortedRecords(nodes);
  const sortedCommits = sortedRecords(commits);
  const header = Buffer.alloc(headerSize);
  magics[format].copy(header);
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
