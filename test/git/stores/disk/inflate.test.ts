import { randomBytes } from 'node:crypto';
import { deflateSync, inflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deflate } from '../../../../src/git/stores/disk/pack-writer.ts';
import { compressedBound, inflate, inflateStart, isPlausibleSize } from '../../../../src/git/stores/disk/pack.ts';

const data = fc.oneof(
  fc.uint8Array({ maxLength: 5000 }),
  // What compresses, as texts do.
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat(500))
    .map(([part, times]) => Uint8Array.from({ length: part.length * times }, (_, at) => part[at % part.length] ?? 0)),
);
const level = fc.integer({ min: 0, max: 9 });

describe('inflating', () => {
  test('gives what was deflated, whatever follows it', () => {
    fc.assert(
      fc.property(data, level, fc.uint8Array({ maxLength: 20 }), (bytes, strength, after) => {
        const stream = Buffer.concat([deflateSync(bytes, { level: strength }), after]);
        expect(inflate(stream, bytes.byteLength)).toEqual({ data: Buffer.from(bytes) });
      }),
    );
  });

  test('tells what is wrong with a stream, and is not disturbed by the stream before', () => {
    const stream = deflateSync(Buffer.from('what was said'));
    expect(inflate(stream.subarray(0, -1), 13)).toEqual({ problem: 'truncated' });
    expect(inflate(stream, 12)).toEqual({ problem: 'too-long' });
    expect(inflate(stream, 14)).toEqual({ problem: 'too-short' });
    expect(inflate(Buffer.from('what was said'), 13)).toEqual({ problem: 'damaged' });
    const changed = Buffer.from(stream);
    changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
    expect(inflate(changed, 13)).toEqual({ problem: 'damaged' });
    expect(inflate(stream, 13)).toEqual({ data: Buffer.from('what was said') });
  });

  test('of a stream that is cut off gives the beginning, no more of it than was asked for', () => {
    const stream = deflateSync(Buffer.from('tree 7\0what was said'.repeat(100)), { level: 0 });
    expect(inflateStart(stream.subarray(0, 40), 6)?.toString()).toBe('tree 7');
    expect(inflateStart(stream.subarray(0, 12), 100)?.toString()).toBe('tree ');
    expect(inflateStart(Buffer.from('tree 7'), 6)).toBeUndefined();
  });
});

test('a stream that gives far more than it says is stopped', () => {
  const bomb = deflateSync(Buffer.alloc(1024 * 1024));
  expect(inflate(bomb, 100)).toEqual({ problem: 'too-long' });
  const inflated = inflate(bomb, 1024 * 1024);
  expect('data' in inflated && inflated.data.equals(Buffer.alloc(1024 * 1024))).toBe(true);
});

describe('the size of a stream', () => {
  test('is at most what is expected, whatever it holds and however it was made', () => {
    fc.assert(
      fc.property(fc.nat(100_000), level, (size, strength) => {
        const bytes = randomBytes(size);
        expect(deflateSync(bytes, { level: strength }).byteLength).toBeLessThanOrEqual(compressedBound(size));
      }),
    );
    // One read gets nearly every object: not much more is expected.
    expect(compressedBound(0)).toBe(64);
    expect(compressedBound(1024 * 1024)).toBe(1024 * 1024 + 256 + 64 + 64);
  });

  test('can be as small as zlib makes it, and no smaller', () => {
    for (const size of [0, 1, 1000, 1_000_000]) {
      expect(isPlausibleSize(size, deflateSync(Buffer.alloc(size), { level: 9 }).byteLength)).toBe(true);
    }
    expect([isPlausibleSize(1032, 1), isPlausibleSize(1033, 1), isPlausibleSize(10_000, 5)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('deflating', () => {
  test('gives what inflates to the same, and is as small as with the defaults of zlib', () => {
    fc.assert(
      fc.property(data, fc.integer({ min: 1, max: 9 }), (bytes, level) => {
        const stream = deflate(bytes, level);
        expect(inflateSync(stream)).toEqual(Buffer.from(bytes));
        expect(stream.byteLength).toBeLessThanOrEqual(deflateSync(bytes, { level }).byteLength * 1.05 + 16);
      }),
    );
  });

  test('is whole where nothing can be made smaller', () => {
    for (let size = 0; size <= 4200; size += 100) {
      const bytes = randomBytes(size);
      for (const level of [1, 6, 9]) expect(inflateSync(deflate(bytes, level))).toEqual(bytes);
    }
  });
});
