import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import { readableMeta, toldMeta } from '../../src/thread/step-view.ts';

function metaOf(count: number): JsonObject {
  const keys = Array.from({ length: count }, (_, index) => `b${index}`);
  const end = { outcome: 'completed', returnCode: 0, summary: 's'.repeat(1000) };
  const branches = keys.map((key, index) => [key, { status: index === 0 ? null : 'done', meta: { index }, end }]);
  return { $status: 'joined', order: keys.toReversed(), branches: Object.fromEntries(branches) };
}

test('a person reads the key and the status of each branch, in the order in which they were taken in', () => {
  expect(readableMeta(metaOf(2))).toEqual({ $status: 'joined', branches: ['b1: done', 'b0: no status'] });
});

test('an agent is told the metas of the branches', () => {
  const branches = [
    { key: 'b1', meta: { index: 1 } },
    { key: 'b0', meta: { index: 0 } },
  ];
  expect(toldMeta(metaOf(2))).toEqual({ $status: 'joined', branches });
});

test.each([readableMeta, toldMeta])('a thousand branches are folded', (read) => {
  const { branches } = read(metaOf(1000));
  expect(branches).toHaveLength(51);
  expect((branches as unknown[]).at(-1)).toBe('… and 950 more');
  expect(JSON.stringify(read(metaOf(1000))).length).toBeLessThan(4000);
});

test('the meta of a role stays as it is', () => {
  const meta = { $status: 'done', order: ['a'], branches: { a: 1 } };
  expect(readableMeta(meta)).toBe(meta);
  expect(toldMeta(meta)).toBe(meta);
});
