import { expect, test } from 'vitest';
import { bringInParts } from '../../../src/git/transport/fetch-refs.ts';

import fc from 'fast-check';

/** Brings numbers as long as none of a part is bad. @returns those that came, and how large each part was that was tried */
async function bring(count: number, bad: ReadonlySet<number>, mostTries: number) {
  const [came, sizes]: [number[], number[]] = [[], []];
  await bringInParts(
    Array.from({ length: count }, (_, at) => at),
    mostTries,
    async (part) => {
      sizes.push(part.length);
      if (part.some((item) => bad.has(item))) return false;
      came.push(...part);
      return true;
    },
  );
  return { came: came.toSorted((a, b) => a - b), sizes };
}

test('all comes but for what is bad, each once, and the largest parts first', async () => {
  const inputs = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.uniqueArray(fc.nat(199), { maxLength: 8 }));
  await fc.assert(
    fc.asyncProperty(inputs, async ([count, list]) => {
      const bad = new Set(list.filter((item) => item < count));
      const { came, sizes } = await bring(count, bad, 1_000);
      expect(came).toEqual(Array.from({ length: count }, (_, at) => at).filter((item) => !bad.has(item)));
      // An odd part has two halves that differ by one.
      for (const [at, size] of sizes.entries()) expect(size).toBeLessThanOrEqual((sizes[at - 1] ?? size) + 1);
    }),
  );
});

test('where tries are few most comes all the same, wherever the bad ones lie', async () => {
  const bad = new Set([0, 1, 50_000, 99_999]);
  const { came, sizes } = await bring(100_000, bad, 64);
  expect(sizes).toHaveLength(64);
  expect(came.length).toBeGreaterThan(99_000);
});
