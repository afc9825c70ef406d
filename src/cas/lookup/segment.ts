import { crc32 } from 'node:zlib';
import type { ObjectFormat, ObjectId } from '../../git/format/object-id.ts';
import { objectIdBytes, objectIdFromBytes } from '../../git/format/object-id.ts';
import type { ReadBytes } from '../../git/system/page-cache.ts';
import { base32, hashBits } from '../hash.ts';
import type { NodeHash } from '../hash.ts';
import { checkedRead, DamagedSegment, PageSums, sizeOfSums } from './page-sums.ts';
import { RecordTable } from './record-table.ts';
import { mergeRecords } from './sorted-records.ts';
import type { SortedRecords } from './sorted-records.ts';

/** Random access to the bytes of a segment. */
export interface SegmentBytes {
  readonly size: number;
  readonly read: ReadBytes;
}

// The nodes, then the commits, both sorted; a CRC-32 of each 16 KiB of these; at last 8 bytes of magic, the two counts, and
// the CRC-32 of the checksums and these 16 bytes. All numbers have 32 bits, big-endian.
const magics: Readonly<Record<ObjectFormat, Buffer>> = {
  sha1: Buffer.from('UWFLOOK5'),
  sha256: Buffer.from('UWFLOOK6'),
};
const magicSize = 8;
const countsEnd = 16;
const footerSize = 20;

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
 * Both lists are sorted by their bytes, so that a search halves them: for one of a million records it reads at most ten pages.
 */
export class Segment {
  readonly format: ObjectFormat;
  readonly nodeCount: number;
  readonly commitCount: number;
  readonly #nodes: RecordTable;
  readonly #commits: RecordTable;

  /**
   * Opens a segment.
   * @throws {DamagedSegment} if the bytes are not a segment of this version. The other methods throw it for damaged records
   */
  static open(bytes: SegmentBytes): Segment {
    const { size, read } = bytes;
    if (size < footerSize) throw new DamagedSegment();
    const footer = Buffer.from(read(size - footerSize, footerSize));
    const magic = footer.subarray(0, magicSize);
    const format = magic.equals(magics.sha256) ? 'sha256' : 'sha1';
    const [nodeCount, commitCount] = [footer.readUInt32BE(8), footer.readUInt32BE(12)];
    const recordsSize = nodeCount * nodeSize(format) + commitCount * commitSize(format);
    const sumsSize = sizeOfSums(recordsSize);
    if (!magic.equals(magics[format]) || recordsSize + sumsSize + footerSize !== size) throw new DamagedSegment();
    const sums = Buffer.from(read(recordsSize, sumsSize));
    if (sumOfFooter(sums, footer) !== footer.readUInt32BE(countsEnd)) throw new DamagedSegment();
    return new Segment(format, nodeCount, commitCount, checkedRead(read, recordsSize, sums));
  }

  private constructor(format: ObjectFormat, nodeCount: number, commitCount: number, read: ReadBytes) {
    this.format = format;
    this.nodeCount = nodeCount;
    this.commitCount = commitCount;
    this.#nodes = new RecordTable(read, 0, nodeCount, nodeSize(format));
    this.#commits = new RecordTable(read, nodeCount * nodeSize(format), commitCount, commitSize(format));
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

/** Writes a segment in pieces, one after the other; equal content gives the same bytes. */
export function writeSegment({ format, nodes, commits }: SegmentContent, write: (bytes: Buffer) => void): void {
  const sums = new PageSums();
  const writeAll = (records: SortedRecords): number => {
    let written = 0;
    for (const block of records()) {
      sums.add(block);
      write(block);
      written += block.length;
    }
    return written;
  };
  const footer = Buffer.alloc(footerSize);
  magics[format].copy(footer);
  footer.writeUInt32BE(writeAll(nodes) / nodeSize(format), 8);
  footer.writeUInt32BE(writeAll(commits) / commitSize(format), 12);
  const encoded = sums.encode();
  footer.writeUInt32BE(sumOfFooter(encoded, footer), countsEnd);
  write(encoded);
  write(footer);
}

function sumOfFooter(sums: Buffer, footer: Buffer): number {
  return crc32(footer.subarray(0, countsEnd), crc32(sums));
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
