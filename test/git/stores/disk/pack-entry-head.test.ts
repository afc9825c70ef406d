import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packEntryHeadBytes, readPackEntryHead } from '../../../../src/git/stores/disk/pack-entry-head.ts';

const types = { commit: 1, tree: 2, blob: 3, tag: 4 } as const;

/** A type and a size as in gitformat-pack(5): four bits of the size in the first byte, then seven in each, the lowest first. */
function head(type: number, size: number): number[] {
  const bytes = [(type << 4) | (size % 16)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(rest % 128);
  }
  return bytes;
}

/** A distance as in gitformat-pack(5): seven bits in each byte, the highest first; a longer one begins where a shorter ends. */
function distance(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest -= 1;
    bytes.unshift((rest % 128) | 0x80);
  }
  return bytes;
}

const read = (...bytes: number[]): unknown => readPackEntryHead(Buffer.from([...bytes, 0x78, 0x9c]));
const sizes = fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 0, max: 2 ** 52 - 1 }));

describe('the head of an entry', () => {
  test('of an object has its type and size', () => {
    fc.assert(
      fc.property(fc.constantFrom('commit', 'tree', 'blob', 'tag'), sizes, (type, size) => {
        const bytes = head(types[type], size);
        expect(read(...bytes)).toEqual({ kind: 'object', type, size, dataAt: bytes.length });
      }),
    );
    expect(read(...head(3, 15))).toMatchObject({ size: 15, dataAt: 1 });
    expect(read(...head(3, 16))).toMatchObject({ size: 16, dataAt: 2 });
  });

  test('of a delta has the distance to its base', () => {
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 2 ** 48 }), (size, back) => {
        const bytes = [...head(6, size), ...distance(back)];
        expect(read(...bytes)).toEqual({ kind: 'offset-delta', size, distance: back, dataAt: bytes.length });
      }),
    );
    expect(read(...head(6, 4), 0x7f)).toMatchObject({ distance: 127 });
    // As git's own documentation counts it: two bytes begin at 128.
    expect(read(...head(6, 4), 0x80, 0x00)).toMatchObject({ distance: 128 });
  });

  test('of a delta may name its base', () => {
    const base = Array.from({ length: 20 }, (_, at) => at + 1);
    const bytes = [...head(7, 300), ...base];
    const named = Buffer.from(base).toString('hex');
    expect(read(...bytes)).toEqual({ kind: 'ref-delta', size: 300, base: named, dataAt: bytes.length });
  });

  test('is never longer than what is read of it', () => {
    expect(head(7, 2 ** 53 - 1).length + 20).toBeLessThanOrEqual(packEntryHeadBytes);
  });

  test.each([
    ['nothing', [], 'an entry is cut off'],
    ['half of a size', [0xb0, 0x80], 'an entry is cut off'],
    [
      'a size of more bytes than a number holds',
      [0xb0, ...Array.from({ length: 7 }, () => 0xff), 0x01],
      'a size cannot be',
    ],
    ['half of a distance', [0x60, 0x80], 'the base of a delta lies outside of it'],
    [
      'a distance that does not end',
      [0x60, ...Array.from({ length: 8 }, () => 0x80), 0x01],
      'the base of a delta lies outside of it',
    ],
    ['itself as its base', [0x60, 0x00], 'the base of a delta lies outside of it'],
    ['the type 0', [0x00], 'an entry has the type 0'],
    ['the type 5, which git reserves', [0x50], 'an entry has the type 5'],
  ])('is none where there is %s', (_, bytes, reason) => {
    expect(readPackEntryHead(Buffer.from(bytes))).toBe(reason);
  });
});
