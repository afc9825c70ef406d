import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base32 } from '../../../src/cas/hash.ts';
import { DamagedSegment } from '../../../src/cas/lookup/page-sums.ts';
import { commitSize, mergeSegments, nodeSize, Segment, writeSegment } from '../../../src/cas/lookup/segment.ts';
import type { SegmentContent } from '../../../src/cas/lookup/segment.ts';
import { memoryBytes } from '../../../src/cas/lookup/segment-store.ts';
import { RecordList } from '../../../src/cas/lookup/sorted-records.ts';

function bytesOfContent(content: SegmentContent): Buffer {
  const pieces: Buffer[] = [];
  writeSegment(content, (bytes) => pieces.push(Buffer.from(bytes)));
  return Buffer.concat(pieces);
}

function encodeSegment(nodes: readonly Buffer[], commits: readonly Buffer[]): Buffer {
  const [nodeList, commitList] = [new RecordList(nodeSize('sha1')), new RecordList(commitSize('sha1'))];
  for (const node of nodes) nodeList.add(node);
  for (const commit of commits) commitList.add(commit);
  return bytesOfContent({ format: 'sha1', nodes: nodeList.sorted(), commits: commitList.sorted() });
}

const record = (size: number): fc.Arbitrary<Buffer> =>
  // Few different first bytes, so that equal hashes and neighbours are common.
  fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.uint8Array({ minLength: size - 8, maxLength: size - 8 }))
    .map(([first, rest]) => Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, first]), rest]));

const content = fc.tuple(fc.array(record(nodeSize('sha1'))), fc.array(record(commitSize('sha1'))));

describe('a segment', () => {
  test('finds exactly what a search through the whole list finds', () => {
    const bound = fc.bigInt({ min: 0n, max: 5n });
    fc.assert(
      fc.property(content, bound, bound, ([nodes, commits], low, high) => {
        const segment = Segment.open(memoryBytes(encodeSegment(nodes, commits)));
        const expected = nodes.filter((node) => node.readBigUInt64BE(0) >= low && node.readBigUInt64BE(0) <= high);
        const found = [...segment.between(low, high)].map(({ hash, oid }) => `${hash} ${oid}`);
        const lines = expected.map((node) => `${base32(node.readBigUInt64BE(0))} ${node.toString('hex', 8)}`);
        expect(new Set(found)).toEqual(new Set(lines));
        expect(found).toHaveLength(new Set(lines).size);
      }),
    );
  });

  test('covers exactly the commits it was given', () => {
    fc.assert(
      fc.property(content, record(commitSize('sha1')), ([nodes, commits], other) => {
        const segment = Segment.open(memoryBytes(encodeSegment(nodes, commits)));
        for (const commit of [...commits, other]) {
          const isGiven = commits.some((given) => given.equals(commit));
          // The records are 20 bytes, as ids are.
          expect(segment.covers(commit.toString('hex') as Parameters<Segment['covers']>[0])).toBe(isGiven);
        }
      }),
    );
  });

  test('has the same bytes for the same records in another order', () => {
    fc.assert(
      fc.property(content, ([nodes, commits]) => {
        const again = encodeSegment([...nodes.toReversed(), ...nodes], commits.toReversed());
        expect(again.equals(encodeSegment(nodes, commits))).toBe(true);
      }),
    );
  });

  test('merged with others has what is in any of them, once', () => {
    fc.assert(
      fc.property(fc.array(content, { maxLength: 5 }), (contents) => {
        const segments = contents.map(([nodes, commits]) => Segment.open(memoryBytes(encodeSegment(nodes, commits))));
        const merged = bytesOfContent(mergeSegments(segments, 'sha1'));
        const all = encodeSegment(
          contents.flatMap(([nodes]) => nodes),
          contents.flatMap(([, commits]) => commits),
        );
        expect(merged.equals(all)).toBe(true);
      }),
    );
  });

  test('that was cut off, or is something else, is none', () => {
    const bytes = encodeSegment([Buffer.alloc(nodeSize('sha1'))], [Buffer.alloc(commitSize('sha1'))]);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => Segment.open(memoryBytes(bytes.subarray(0, length)))).toThrow(DamagedSegment);
    }
    expect(() => Segment.open(memoryBytes(Buffer.concat([bytes, Buffer.alloc(1)])))).toThrow(DamagedSegment);
    expect(() => Segment.open(memoryBytes(Buffer.alloc(64, 'x')))).toThrow(DamagedSegment);
  });

  test('in which a bit has changed gives nothing of what it touches', () => {
    const nodes = Array.from({ length: 2000 }, (_, number) => {
      const node = Buffer.alloc(nodeSize('sha1'), number);
      node.writeUInt32BE(number * 2_000_000);
      return node;
    });
    const sound = encodeSegment(nodes, []);
    for (let at = 0; at < sound.length; at += 997) {
      const damaged = Buffer.from(sound);
      damaged[at] = sound[at]! ^ (1 << (at % 8));
      const look = (): unknown => [...Segment.open(memoryBytes(damaged)).content.nodes()];
      expect(look).toThrow(DamagedSegment);
    }
  });
});
