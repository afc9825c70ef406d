import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PageCache } from '../../../src/git/system/page-cache.ts';
import type { FillBuffer } from '../../../src/git/system/page-cache.ts';

const pageBytes = 16 * 1024;

function fileOf(bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 31 + (at >> 8)) % 256));
}

function counted(file: Buffer): { load: FillBuffer; loads: () => number } {
  let loads = 0;
  const load: FillBuffer = (buffer, position) => {
    loads += 1;
    return buffer.subarray(0, file.copy(buffer, 0, Math.min(position, file.length)));
  };
  return { load, loads: () => loads };
}

describe('a page cache', () => {
  test('gives the bytes that are there, wherever a read begins and ends, whatever was dropped', () => {
    const files = [fileOf(10 * pageBytes + 17), fileOf(3 * pageBytes), fileOf(100)];
    const read = fc.record({
      file: fc.nat(2),
      position: fc.nat(11 * pageBytes),
      length: fc.oneof(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 7 * pageBytes })),
    });
    fc.assert(
      fc.property(fc.array(read), fc.integer({ min: 1, max: 6 }), (reads, pages) => {
        const cache = new PageCache(pages * pageBytes);
        const readers = files.map((file) => cache.open(counted(file).load));
        for (const { file, position, length } of reads) {
          const expected = files[file]!.subarray(position, position + length);
          expect(readers[file]!(position, length).equals(expected)).toBe(true);
        }
      }),
    );
  });

  test('reads what lies close together once', () => {
    const { load, loads } = counted(fileOf(4 * pageBytes));
    const read = new PageCache(4 * pageBytes).open(load);
    for (let position = 0; position < 4 * pageBytes; position += 100) read(position, 32);
    expect(loads()).toBe(4);
  });

  test('keeps no more than it may, and drops the oldest page', () => {
    const { load, loads } = counted(fileOf(8 * pageBytes));
    const read = new PageCache(2 * pageBytes).open(load);
    for (const page of [0, 1, 0, 2, 1]) read(page * pageBytes, 1);
    expect(loads()).toBe(3);
    read(0, 1);
    expect(loads()).toBe(4);
  });

  test('does not keep what is read in one large piece', () => {
    const { load, loads } = counted(fileOf(8 * pageBytes));
    const read = new PageCache(8 * pageBytes).open(load);
    read(0, 8 * pageBytes);
    expect(loads()).toBe(1);
    read(0, 1);
    expect(loads()).toBe(2);
  });
});
