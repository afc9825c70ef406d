import type { ObjectFormat, ObjectId } from '../../git/object-id.ts';
import { objectIdBytes, objectIdFromBytes } from '../../git/object-id.ts';
import type { ReadBytes } from '../../git/page-cache.ts';
import { base32, hashBits } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { RecordTable } from './record-table.ts';
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

/**
 * An immutable list of nodes (hash, then the id of a blob that claims to be it) and of the commits they come from.
 *
 * Both lists are sorted by their bytes, so that a search reads a page or two however long they are.
 */
export class Segment {
  readonly format: ObjectFormat;
  readonly nodeCount: number;
  readonly commitCount: number;
  readonly #nodes: RecordTable;
  readonly #commits: RecordTable;

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
    const commitsAt = headerSize + this.nodeCount * nodeSize(format);
    this.#nodes = new RecordTable(bytes.read, headerSize, this.nodeCount, nodeSize(format));
    this.#commits = new RecordTable(bytes.read, commitsAt, this.commitCount, commitSize(format));
  }

  /** The nodes whose hash, as 8 bytes, lies between two bounds, both included. */
  *between(low: bigint, high: bigint): Generator<{ hash: NodeHash; oid: ObjectId }> {
    const lowest = Buffer.allocUnsafe(HASH_BYTES);
    lowest.writeBigUInt64BE(low);
    for (let index = this.#nodes.firstNotBefore(lowest); index < this.nodeCount; index++) {
      const node = this.#nodes.at(index);
      const bits = node.readBigUInt64BE(0);
      if (bits > high) return;
      yield { hash: base32(bits), oid: objectIdFromBytes(node.subarray(HASH_BYTES)) };
    }
  }

  /** The blobs that claim to be a node. */
  blobsOf(hash: NodeHash): ObjectId[] {
    const wanted = Buffer.allocUnsafe(HASH_BYTES);
    wanted.writeBigUInt64BE(hashBits(hash));
    const blobs: ObjectId[] = [];
    for (let index = this.#nodes.firstNotBefore(wanted); index < this.nodeCount; index++) {
      const node = this.#nodes.at(index);
      if (node.compare(wanted, 0, HASH_BYTES, 0, HASH_BYTES) !== 0) break;
      blobs.push(objectIdFromBytes(node.subarray(HASH_BYTES)));
    }
    return blobs;
  }

  /** Tells whether the nodes of a commit, and of all its ancestors, are in the lookup since this segment was written. */
  covers(commit: ObjectId): boolean {
    const wanted = Buffer.from(commit, 'hex');
    const index = this.#commits.firstNotBefore(wanted);
    return index < this.commitCount && this.#commits.at(index).equals(wanted);
  }

  /** All that it holds. */
  get content(): SegmentContent {
    return { format: this.format, nodes: () => this.#nodes.blocks(), commits: () => this.#commits.blocks() };
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
