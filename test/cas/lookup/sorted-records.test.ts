import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeRecords, RecordList } from '../../../src/cas/lookup/sorted-records.ts';

const size = 6;
const record = fc.uint8Array({ minLength: size, maxLength: size, max: 2 }).map((bytes) => Buffer.from(bytes));

function expected(records: readonly Buffer[]): string[] {
  return [...new Set(records.map((bytes) => bytes.toString('hex')))].toSorted();
}

function inOrder(blocks: Iterable<Buffer>): string[] {
  const records: string[] = [];
  // One after the other: a block is good until the next one is asked for.
  for (const block of blocks) {
    for (let at = 0; at < block.length; at += size) records.push(block.toString('hex', at, at + size));
  }
  return records;
}

function listOf(records: readonly Buffer[]): RecordList {
  const list = new RecordList(size);
  for (const bytes of records) list.add(bytes);
  return list;
}

describe('a list of records', () => {
  test('gives them in the order of their bytes, each once, as often as it is asked', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 200 }), (records) => {
        const sorted = listOf(records).sorted();
        expect(inOrder(sorted())).toEqual(expected(records));
        expect(inOrder(sorted())).toEqual(expected(records));
      }),
    );
  });

  test('is as new when it was cleared, whatever it held', () => {
    fc.assert(
      fc.property(fc.array(fc.array(record, { maxLength: 200 }), { maxLength: 4 }), (lists) => {
        const list = new RecordList(size);
        for (const records of lists) {
          for (const bytes of records) list.add(bytes);
          expect(list.length).toBe(records.length);
          expect(inOrder(list.sorted()())).toEqual(expected(records));
          list.clear();
        }
      }),
    );
  });

  test('of more records than are sorted at once loses none', () => {
    const list = new RecordList(size);
    const count = 150_000;
    for (let at = 0; at < count; at += 1) {
      const bytes = Buffer.alloc(size);
      // Every number twice, in an order that is far from sorted.
      bytes.writeUInt32BE((at * 7919) % (count / 2), 2);
      list.add(bytes);
    }
    const seen = inOrder(list.sorted()());
    expect(list.length).toBe(count);
    expect(seen).toHaveLength(count / 2);
    expect(seen.every((text, at) => at === 0 || (seen[at - 1] ?? '') < text)).toBe(true);
    // What they leave is used again.
    list.clear();
    for (let at = count; at > 0; at -= 1) list.add(Buffer.from(at.toString(16).padStart(size * 2, '0'), 'hex'));
    expect(inOrder(list.sorted()()).every((text, at) => Number.parseInt(text, 16) === at + 1)).toBe(true);
  });

  test('merged with others gives what is in any of them', () => {
    fc.assert(
      fc.property(fc.array(fc.array(record), { maxLength: 6 }), (lists) => {
        const merged = mergeRecords(
          lists.map((records) => listOf(records).sorted()),
          size,
        );
        expect(inOrder(merged)).toEqual(expected(lists.flat()));
      }),
    );
  });
});
