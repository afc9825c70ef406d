import { randomBytes } from 'node:crypto';
import { deflateSync, inflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deflate, reusingDeflater } from '../../../src/git/disk/deflate.ts';
import { inflate, inflateStart } from '../../../src/git/disk/inflate.ts';
import { plainInflater, reusingInflater } from '../../../src/git/disk/inflater.ts';

const data = fc.oneof(
  fc.uint8Array({ maxLength: 5000 }),
  // What compresses, as texts do.
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat(500))
    .map(([part, times]) => Uint8Array.from({ length: part.length * times }, (_, at) => part[at % part.length] ?? 0)),
);
const level = fc.integer({ min: 0, max: 9 });

/** A stream as it is, cut off, followed by something else, or with a byte changed. */
const damaged = fc
  .tuple(data, level, fc.constantFrom('whole', 'cut', 'longer', 'changed'), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([bytes, strength, what, where]) => {
    const stream = deflateSync(bytes, { level: strength });
    const at = Math.floor(where * (stream.byteLength - 1));
    if (what === 'cut') return { bytes, stream: stream.subarray(0, at) };
    if (what === 'longer') return { bytes, stream: Buffer.concat([stream, Buffer.from('and more')]) };
    if (what === 'changed') stream[at] = (stream[at] ?? 0) ^ 0x10;
    return { bytes, stream };
  });

describe('inflating', () => {
  test('gives what was deflated, whatever follows it', () => {
    fc.assert(
      fc.property(data, level, fc.uint8Array({ maxLength: 20 }), (bytes, strength, after) => {
        const stream = Buffer.concat([deflateSync(bytes, { level: strength }), after]);
        expect(inflate(stream, bytes.byteLength)).toEqual({ data: Buffer.from(bytes) });
      }),
    );
  });

  test('tells what is wrong with a stream, and the next one is not the worse for it', () => {
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

  test('of what is no stream nothing is filled, whatever came before it', () => {
    for (const inflater of [reusingInflater(), plainInflater]) {
      expect(inflater?.(deflateSync('what was said'), Buffer.alloc(100), true)).toMatchObject({ filled: 13 });
      expect(inflater?.(Buffer.from('none'), Buffer.alloc(5), true)).toEqual({ filled: 0, code: 'Z_DATA_ERROR' });
    }
  });

  test('one state of zlib is not used in a Node that nobody has looked at', () => {
    expect(reusingInflater('20.20.0')).toBeDefined();
    expect(reusingInflater('25.0.0')).toBeUndefined();
    expect(reusingInflater('')).toBeUndefined();
  });

  test('comes out the same with one state of zlib for all and with a new one for each', () => {
    const reusing = reusingInflater();
    if (reusing === undefined) throw new Error('this Node has streams of another kind: plainInflater is used alone');
    fc.assert(
      fc.property(damaged, fc.integer({ min: -3, max: 3 }), ({ bytes, stream }, more) => {
        const room = Math.max(1, bytes.byteLength + more);
        const [output, expectedOutput] = [Buffer.alloc(room), Buffer.alloc(room)];
        const outcome = reusing(stream, output, true);
        const expected = plainInflater(stream, expectedOutput, true);
        // Where the room ends before the stream, neither has to have looked at the rest.
        if (outcome.filled === room || expected.filled === room) return;
        expect(outcome.code).toBe(expected.code);
        if (outcome.code !== undefined) return;
        expect(outcome.filled).toBe(expected.filled);
        expect(output.equals(expectedOutput)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('deflating', () => {
  test('by one state that is used again gives what inflates to the same, and is as small', () => {
    const strength = fc.integer({ min: 1, max: 9 });
    const deflaters = new Map(Array.from({ length: 9 }, (_, at) => [at + 1, reusingDeflater(at + 1)]));
    fc.assert(
      fc.property(data, strength, (bytes, level) => {
        const plain = deflateSync(bytes, { level });
        for (const stream of [deflate(bytes, level), deflaters.get(level)?.(bytes) ?? Buffer.alloc(0)]) {
          expect(inflateSync(stream)).toEqual(Buffer.from(bytes));
          expect(stream.byteLength).toBeLessThanOrEqual(plain.byteLength * 1.05 + 16);
        }
      }),
    );
  });

  test('is whole where nothing can be made smaller', () => {
    for (let size = 0; size <= 4200; size += 100) {
      const bytes = randomBytes(size);
      for (const level of [1, 6, 9]) expect(inflateSync(deflate(bytes, level))).toEqual(bytes);
    }
  });

  test('does without the state where a version of Node is not known to hand it out', () => {
    expect(reusingDeflater(1, '19.0.0')).toBeUndefined();
    expect(reusingDeflater(1, '25.0.0')).toBeUndefined();
    expect(reusingDeflater(1, '20.19.0')).toBeDefined();
  });
});
