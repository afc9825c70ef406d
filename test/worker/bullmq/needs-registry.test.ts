import fc from 'fast-check';
import { expect, test } from 'vitest';
import { queueOf } from '../../../src/worker/bullmq/listened-queues.ts';
import { isCovered } from '../../../src/worker/turn-queue.ts';

test('the name of a queue depends on the set of needs alone, and is one that BullMQ takes', () => {
  const needs = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 5 });
  fc.assert(
    fc.property(needs, needs, (one, two) => {
      const { name } = queueOf(one);
      expect(name).toMatch(/^turns(-[0-9a-f]{16})?$/);
      expect(queueOf([...one.toReversed(), ...one]).name).toBe(name);
      const isSame = one.length === two.length && one.every((need) => two.includes(need));
      expect(queueOf(two).name === name).toBe(isSame);
    }),
  );
});

test('a machine covers the sets of needs that are among its labels', () => {
  expect(isCovered(queueOf([]), [])).toBe(true);
  expect(isCovered(queueOf(['gpu']), ['arm', 'gpu'])).toBe(true);
  expect(isCovered(queueOf(['gpu', 'docker']), ['gpu'])).toBe(false);
  expect(isCovered(queueOf(['gpu']), [])).toBe(false);
});
