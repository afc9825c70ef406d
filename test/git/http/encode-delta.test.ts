import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyDelta } from '../../../src/git/disk/apply-delta.ts';
import { encodeDelta } from '../../../src/git/http/encode-delta.ts';

describe('a delta', () => {
  test('makes its target out of its base again, whatever they are', () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    const edited = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 400 }), fc.array(fc.tuple(fc.nat(), bytes), { maxLength: 4 }))
      .map(([base, edits]) => {
        let target = Buffer.from(base);
        for (const [at, insert] of edits) {
          const place = at % (target.byteLength + 1);
          target = Buffer.concat([target.subarray(0, place), insert, target.subarray(place + (at % 7))]);
        }
        return [Buffer.from(base), target] as const;
      });
    const unrelated = fc.tuple(bytes, bytes);
    fc.assert(
      fc.property(fc.oneof(edited, unrelated), ([base, target]) => {
        expect(applyDelta(base, encodeDelta(base, target))).toEqual(Buffer.from(target));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['much that is the same', Buffer.alloc(200_000, 'a long text that comes again and again; '), 'and a little more'],
    ['zeros', Buffer.alloc(300_000), 'x'],
    [
      'what lies beyond 16 MiB',
      Buffer.concat([Buffer.alloc(17 * 1024 * 1024), Buffer.from('0123456789abcdef'.repeat(9))]),
      '',
    ],
  ])('is short for %s', (_, base, more) => {
    const target = Buffer.concat([base.subarray(-150_000), Buffer.from(more)]);
    const delta = encodeDelta(base, target);
    expect(delta.byteLength).toBeLessThan(200);
    expect(applyDelta(base, delta)?.equals(target)).toBe(true);
  });
});
