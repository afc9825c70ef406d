import { expect, test } from 'vitest';
import { mergeTreesBesideGit } from './merge-beside-git.ts';

/** `SUITE_MERGES=300` is the whole campaign. */
const COUNT = Number(process.env['SUITE_MERGES'] ?? 100);

test(`trees merge as a checkout merges them in ${COUNT} generated histories`, async () => {
  const counts = { conflicts: 0, clean: 0, byDrivers: 0 };
  let seed = 0;
  for (let compared = 0; compared < COUNT;) {
    seed += 1;
    const { isCompared, hasConflicts, isRepeatable } = await mergeTreesBesideGit(seed);
    if (!isCompared) continue;
    compared += 1;
    counts[hasConflicts ? 'conflicts' : 'clean'] += 1;
    if (!isRepeatable) counts.byDrivers += 1;
  }
  expect(seed - COUNT, 'merges in which git broke off').toBeLessThan(COUNT / 20);
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(COUNT / 60);
}, 3_600_000);
