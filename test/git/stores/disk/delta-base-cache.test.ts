import { expect, test } from 'vitest';
import type { GitObject } from '../../../../src/git/format/object-id.ts';
import { DeltaBaseCache } from '../../../../src/git/stores/disk/delta-base-cache.ts';

const object = (bytes: number): GitObject => ({ type: 'blob', data: new Uint8Array(bytes) });

/** Which of the first entries of pack 1 are in the cache; to look is to use them. */
function kept(cache: DeltaBaseCache, count: number): number[] {
  return Array.from({ length: count }, (_, offset) => offset).filter((offset) => cache.get(1, offset) !== undefined);
}

test('a base is found by its pack and its place', () => {
  const cache = new DeltaBaseCache(1000);
  const data = new Uint8Array([1, 2, 3]);
  cache.set(1, 2, { type: 'tree', data });
  expect(cache.get(1, 2)).toEqual({ type: 'tree', data });
  expect([cache.get(2, 1), cache.get(12, 0), cache.get(1, 20)]).toEqual([undefined, undefined, undefined]);
});

test('a process that has opened very many packs confuses none of their places', () => {
  const cache = new DeltaBaseCache(1000);
  cache.set(1_000_000, 2 ** 31, object(1));
  expect(cache.get(1_000_000, 2 ** 31 + 1)).toBeUndefined();
  expect(cache.get(1_000_000, 2 ** 31)).toBeDefined();
});

test('the base that was not used for longest goes first', () => {
  const cache = new DeltaBaseCache(1000);
  for (const offset of [0, 1, 2, 3]) cache.set(1, offset, object(250));
  expect(kept(cache, 5)).toEqual([0, 1, 2, 3]);
  cache.get(1, 0);
  cache.set(1, 4, object(100));
  expect(kept(cache, 5)).toEqual([0, 2, 3, 4]);
});

test('a base of more than a quarter of the cache is not kept', () => {
  const cache = new DeltaBaseCache(1000);
  cache.set(1, 0, object(250));
  cache.set(1, 1, object(251));
  expect(kept(cache, 2)).toEqual([0]);
});

test('a base that is set again counts once, as the last one', () => {
  const cache = new DeltaBaseCache(1000);
  for (const offset of [0, 1, 2, 0, 0, 0, 0, 3]) cache.set(1, offset, object(250));
  expect(kept(cache, 4)).toEqual([0, 1, 2, 3]);
  for (const offset of [1, 4]) cache.set(1, offset, object(250));
  expect(kept(cache, 5)).toEqual([1, 2, 3, 4]);
});

test('a cleared cache is empty and has all its room', () => {
  const cache = new DeltaBaseCache(1000);
  for (const offset of [0, 1, 2, 3]) cache.set(1, offset, object(250));
  cache.clear();
  expect(kept(cache, 4)).toEqual([]);
  for (const offset of [0, 1, 2, 3]) cache.set(1, offset, object(250));
  expect(kept(cache, 4)).toEqual([0, 1, 2, 3]);
});

test('a base does not keep the memory of the bytes around it', () => {
  const cache = new DeltaBaseCache(1000);
  const around = new Uint8Array(10_000).fill(7);
  cache.set(1, 0, { type: 'blob', data: around.subarray(5000, 5010) });
  expect(cache.get(1, 0)?.data).toEqual(new Uint8Array(10).fill(7));
  expect(cache.get(1, 0)?.data.buffer.byteLength).toBe(10);
  // Its own memory is not copied.
  const own = new Uint8Array(200);
  cache.set(1, 1, { type: 'blob', data: own });
  expect(cache.get(1, 1)?.data).toBe(own);
});
