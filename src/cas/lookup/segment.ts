import type { ObjectFormat, ObjectId } from '../../git/object-id.ts';
import { objectIdBytes, objectIdFromBytes } from '../../git/object-id.ts';
import type { ReadBytes } from '../../git/page-cache.ts';
import { base32 } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { mergeRecords } from './sorted-records.ts';
import type { SortedRecords } from './sorted-records.ts';

/** Random access to the bytes of a segment. */
export interface SegmentBytes {
  readonly size: number;
  readonly read: ReadBytes;
}

// Header: 8 bytes of magic, then two unsigned 32-bit counts, big-endian. Then the nodes, then the commits, both sorted.
const magics: Readonly<Record<ObjectFormat, Buffer>> = {
  sha1: Buffer.from('UWFLOOK1'),
  sha256: Buffer.from('UWFLOOK2'),
};
const magicSize = 8;
const headerSize = 16;

/** The bytes of a hash in a node's record. */
export const HASH_BYTES = 8;

/** The bytes of a node's record: those of its hash, then the object id. */
export function nodeSize(format: ObjectFormat): number {
  return HASH_BYTES + objectIdBytes(format);
}

/** The bytes of a commit's record: its id. */
export function commitSize(format: ObjectFormat): number {
  return objectIdBytes(format);
}

/** What a segment is made of. */
export type SegmentContent = { format: ObjectFormat; nodes: SortedRecords; commits: SortedRecords };

const blockRecords = 4 * 1024;

/**
 * An immutable list of nodes (hash, then the id of a blob that claims to be it) and of the commits they come from.
 *
 * Both lists are sorted by their bytes, so that a search reads a page or two however long they are.
 */
export class Segment {
  readonly format: ObjectFormat;
  readonly nodeCount: number;
  readonly commitCount: number;
  readonly #bytes: SegmentBytes;
  readonly #nodeSize: number;
  readonly #commitSize: number;

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
    this.format = format;
    this.nodeCount = header.readUInt32BE(8);
    this.commitCount = header.readUInt32BE(12);
    this.#bytes = bytes;
    this.#nodeSize = nodeSize(format);
    this.#commitSize = commitSize(format);
  }

  /** The nodes whose hash, as 8 bytes, lies between two bounds, both included. */
  *between(low: bigint, high: bigint): Generator<{ hash: NodeHash; oid: ObjectId }> {
    const lowest = Buffer.allocUnsafe(HASH_BYTES);
    lowest.writeBigUInt64BE(low);
    const [highHalf, lowHalf] = [lowest.readUInt32BE(0), lowest.readUInt32BE(4)];
    // Halves that are plain numbers: comparing buffers is a call out of JavaScript for each.
    const isBefore = (index: number): boolean => {
      const node = this.#nodeAt(index);
      const half = node.readUInt32BE(0);
      return half === highHalf ? node.readUInt32BE(4) < lowHalf : half < highHalf;
    };
    const guess = expectedPlace(highHalf, this.nodeCount);
    for (let index = firstNot(this.nodeCount, guess, isBefore); index < this.nodeCount; index++) {
      const node = this.#nodeAt(index);
      const bits = node.readBigUInt64BE(0);
      if (bits > high) return;
      yield { hash: base32(bits), oid: objectIdFromBytes(node.subarray(HASH_BYTES)) };
    }
  }

  /** Tells whether the nodes of a commit, and of all its ancestors, are in the lookup since this segment was written. */
  covers(commit: ObjectId): boolean {
    const wanted = Buffer.from(commit, 'hex');
    const isBefore = (index: number): boolean => Buffer.compare(this.#commitAt(index), wanted) < 0;
    const guess = expectedPlace(wanted.readUInt32BE(0), this.commitCount);
    const index = firstNot(this.commitCount, guess, isBefore);
    return index < this.commitCount && this.#commitAt(index).equals(wanted);
  }

  /** All that it holds. */
  get content(): SegmentContent {
    const nodesAt = headerSize;
    const commitsAt = nodesAt + this.nodeCount * this.#nodeSize;
    return {
      format: this.format,
      nodes: () => this.#blocks(nodesAt, this.nodeCount, this.#nodeSize),
      commits: () => this.#blocks(commitsAt, this.commitCount, this.#commitSize),
    };
  }

  *#blocks(start: number, count: number, size: number): Generator<Buffer> {
    for (let index = 0; index < count; index += blockRecords) {
      // A copy: it is used until the next block is asked for, and others are read meanwhile.
      yield Buffer.from(this.#bytes.read(start + index * size, Math.min(blockRecords, count - index) * size));
    }
  }

  #nodeAt(index: number): Buffer {
    return this.#bytes.read(headerSize + index * this.#nodeSize, this.#nodeSize);
  }

  #commitAt(index: number): Buffer {
    const start = headerSize + this.nodeCount * this.#nodeSize;
    return this.#bytes.read(start + index * this.#commitSize, this.#commitSize);
  }
}

/**
 * Writes a segment in pieces, the header last; equal content gives the same pieces.
 *
 * @param write is given bytes and where in the segment they belong
 */
export function writeSegment(
  { format, nodes, commits }: SegmentContent,
  write: (bytes: Buffer, position: number) => void,
): void {
  let position = headerSize;
  const writeAll = (records: SortedRecords): number => {
    const start = position;
    for (const block of records()) {
      write(block, position);
      position += block.length;
    }
    return position - start;
  };
  const header = Buffer.alloc(headerSize);
  magics[format].copy(header);
  header.writeUInt32BE(writeAll(nodes) / nodeSize(format), 8);
  header.writeUInt32BE(writeAll(commits) / commitSize(format), 12);
  write(header, 0);
}

/** The content of several segments of one format as one. */
export function mergeSegments(segments: readonly Segment[], format: ObjectFormat): SegmentContent {
  const contents = segments.map(({ content }) => content);
  return {
    format,
    nodes: () =>
      mergeRecords(
        contents.map(({ nodes }) => nodes),
        nodeSize(format),
      ),
    commits: () =>
      mergeRecords(
        contents.map(({ commits }) => commits),
        commitSize(format),
      ),
  };
}

/** Where among `count` evenly spread records one is to be expected that starts with these 32 bits; hashes are so. */
function expectedPlace(first32: number, count: number): number {
  return Math.floor((first32 / 2 ** 32) * count);
}

/**
 * The first index for which `isBefore` does not hold, in a list where it holds for a beginning only. Looks near `guess`
 * first, and is right wherever it is.
 */
function firstNot(count: number, guess: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  // How far off a good guess is: the deviation of a binomial distribution.
  for (let step = Math.ceil(Math.sqrt(count)), at = guess; low < high && at >= low && at < high; step *= 4) {
    if (isBefore(at)) low = at + 1;
    else high = at;
    if (low > 0 && high < count) break;
    at += low > 0 ? step : -step;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
