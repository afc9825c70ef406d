import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base32 } from '../../../src/cas/hash.ts';
import { commitSize, encodeSegment, nodeSize, Segment, splitRecords } from '../../../src/cas/lookup/segment.ts';
import type { SegmentBytes } from '../../../src/cas/lookup/segment.ts';

function bytesOf(buffer: Buffer): SegmentBytes {
  return { size: buffer.length, read: (position, length) => buffer.subarray(position, position + length) };
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
        const segment = Segment.open(bytesOf(encodeSegment(nodes, commits)));
        const expected = nodes.filter((node) => node.readBigUInt64BE(0) >= low && node.readBigUInt64BE(0) <= high);
        const found = [...(segment?.between(low, high) ?? [])].map(({ hash, oid }) => `${hash} ${oid}`);
        const lines = expected.map((node) => `${base32(node.readBigUInt64BE(0))} ${node.toString('hex', 8)}`);
        expect(new Set(found)).toEqual(new Set(lines));
        expect(found).toHaveLength(new Set(lines).size);
      }),
    );
  });

  test('covers exactly the commits it was given', () => {
    fc.assert(
      fc.property(content, record(commitSize('sha1')), ([nodes, commits], other) => {
        const segment = Segment.open(bytesOf(encodeSegment(nodes, commits)));
        for (const commit of [...commits, other]) {
          const isGiven = commits.some((given) => given.equals(commit));
          // The records are 20 bytes, as ids are.
          expect(segment?.covers(commit.toString('hex') as Parameters<Segment['covers']>[0])).toBe(isGiven);
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

  test('gives its records back', () => {
    fc.assert(
      fc.property(content, ([nodes, commits]) => {
        const bytes = encodeSegment(nodes, commits);
        const segment = Segment.open(bytesOf(bytes));
        const again = encodeSegment(
          splitRecords(segment?.nodes() ?? Buffer.alloc(0), nodeSize('sha1')),
          splitRecords(segment?.commits() ?? Buffer.alloc(0), commitSize('sha1')),
        );
        expect(again.equals(bytes)).toBe(true);
      }),
    );
  });

  test('that was cut off, or is something else, is none', () => {
    const bytes = encodeSegment([Buffer.alloc(nodeSize('sha1'))], [Buffer.alloc(commitSize('sha1'))]);
    for (let length = 0; length < bytes.length; length++) {
      expect(Segment.open(bytesOf(bytes.subarray(0, length)))).toBeUndefined();
    }
    expect(Segment.open(bytesOf(Buffer.concat([bytes, Buffer.alloc(1)])))).toBeUndefined();
    expect(Segment.open(bytesOf(Buffer.alloc(64, 'x')))).toBeUndefined();
  });
});
