import { expect, test } from 'vitest';
import { RecentlyUsed } from '../../../src/verify/chain/recently-used.ts';

/** Which of the first numbers are kept; to look is to use them. */
function kept(recent: RecentlyUsed<number, string>, count: number): number[] {
  return Array.from({ length: count }, (_, key) => key).filter((key) => recent.get(key) !== undefined);
}

test('what was used last is kept, and what was not used goes', () => {
  const recent = new RecentlyUsed<number, string>(1000);
  for (let key = 0; key < 10; key += 1) recent.set(key, String(key), 100);
  expect(recent.get(0)).toBe('0');
  for (let key = 10; key < 14; key += 1) recent.set(key, String(key), 100);
  expect([0, 1, 4, 13].filter((key) => recent.get(key) !== undefined)).toEqual([0, 13]);
});

test('never more bytes are kept than there is room', () => {
  const recent = new RecentlyUsed<number, string>(1000);
  for (let key = 0; key < 1000; key += 1) {
    recent.set(key, 'x', 90);
    // Looking uses them, so that each look may drop others.
    expect(kept(recent, key + 1).length * 90).toBeLessThanOrEqual(1000);
  }
});

test('a value that is set again takes the place of the one before, and counts once', () => {
  const recent = new RecentlyUsed<number, string>(1000);
  for (let round = 0; round < 10; round += 1) recent.set(1, `value ${round}`, 400);
  recent.set(2, 'other', 100);
  expect([recent.get(1), recent.get(2)]).toEqual(['value 9', 'other']);
});

test('a value that takes more than half of the room is not kept', () => {
  const recent = new RecentlyUsed<number, string>(1000);
  recent.set(1, 'small', 500);
  recent.set(2, 'large', 501);
  expect([recent.get(1), recent.get(2)]).toEqual(['small', undefined]);
});
