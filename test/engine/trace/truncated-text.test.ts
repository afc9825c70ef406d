import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Budget, KeptText } from '../../../src/engine/trace/truncated-text.ts';

function keep(pieces: readonly string[], limits: { head: number; tail: number }, budget?: Budget): string {
  const text = new KeptText(limits, budget);
  for (const piece of pieces) text.add(piece);
  return text.toString();
}

test('a text that fits is kept as it is, however it is cut into pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.nat(), fc.nat(), (texts, head, tail) => {
      const whole = texts.join('');
      const bytes = Buffer.byteLength(whole);
      fc.pre(head + tail >= bytes && (tail === 0 || head + tail > bytes));
      // Cut between code units, in the middle of characters too.
      expect(keep(whole.split(''), { head, tail })).toBe(whole);
      expect(keep(texts, { head, tail })).toBe(whole);
    }),
  );
});

test('of a longer text the beginning and the end are kept, and in between it says how much is missing', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { minLength: 1 }),
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 0, max: 50 }),
      (texts, head, tail) => {
        const whole = texts.join('');
        fc.pre(Buffer.byteLength(whole) > head + tail);
        const kept = keep(texts, { head, tail });
        const match = /^(.*)\n\[uwf left (\d+) bytes out here\]\n(.*)$/su.exec(kept);
        const [, before = '', omitted = '', after = ''] = match ?? [];
        expect(match).not.toBeNull();
        expect(whole.startsWith(before)).toBe(true);
        expect(whole.endsWith(after)).toBe(true);
        expect(Number(omitted)).toBe(Buffer.byteLength(whole) - head - tail);
        // No more than a character on each side is lost to the cut.
        expect(Buffer.byteLength(before)).toBeGreaterThan(head - 4);
        expect(Buffer.byteLength(after)).toBeGreaterThan(tail - 4);
        expect(Buffer.from(kept).toString()).toBe(kept);
      },
    ),
  );
});

test('half a character that has no other half is replaced', () => {
  expect(keep(['a\uD83D'], { head: 10, tail: 0 })).toBe('a\uFFFD');
  expect(keep(['a\uDE00b', '\uD83D', '\uDE00'], { head: 20, tail: 0 })).toBe('a\uFFFDb😀');
});

test('texts that share a budget keep no more than it together', () => {
  const budget = new Budget(10);
  expect(keep(['12345'], { head: 8, tail: 2 }, budget)).toBe('12345');
  expect(keep(['abcdefghij'], { head: 8, tail: 2 }, budget)).toBe('abcde\n[uwf left 5 bytes out here]\n');
  expect(keep(['xyz'], { head: 8, tail: 2 }, budget)).toBe('\n[uwf left 3 bytes out here]\n');
});
