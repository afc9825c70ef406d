import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RecordTable } from '../../../src/cas/lookup/record-table.ts';

const size = 20;

function tableOf(records: readonly Buffer[]): { table: RecordTable; reads: () => number } {
  const bytes = Buffer.concat([Buffer.from('head'), ...records]);
  let reads = 0;
  const read = (position: number, length: number): Buffer => {
    reads += 1;
    return bytes.subarray(position, position + length);
  };
  return { table: new RecordTable(read, 4, records.length, size), reads: () => reads };
}

/** Records that are all over the place, or close together at one or two places. */
const record = fc
  .tuple(
    fc.constantFrom('', '00000000', 'ffffffff', '7fffffffffffffff'),
    fc.uint8Array({ minLength: size, maxLength: size }),
  )
  .map(([start, rest]) => Buffer.concat([Buffer.from(start, 'hex'), rest]).subarray(0, size));

describe('a table of records', () => {
  test('tells where a key would stand, however its records are spread', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 2000, size: 'max' }), fc.array(record), (records, others) => {
        const sorted = records.toSorted(Buffer.compare);
        const { table } = tableOf(sorted);
        for (const key of [...others, ...records.slice(0, 20)]) {
          for (const wanted of [key, key.subarray(0, 8)]) {
            const expected = sorted.filter((other) => Buffer.compare(other.subarray(0, wanted.length), wanted) < 0);
            expect(table.firstNotBefore(wanted)).toBe(expected.length);
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test('halves its records at each read, also where they are crowded as no hashes are', () => {
    const records = Array.from({ length: 50_000 }, (_, at) => {
      const crowded = Buffer.alloc(size);
      crowded.writeUInt32BE(at, 8);
      return crowded;
    });
    const { table, reads } = tableOf(records);
    expect(records.map((key) => table.firstNotBefore(key))).toEqual([...records.keys()]);
    expect(reads() / records.length).toBeLessThan(16);
  });
});
