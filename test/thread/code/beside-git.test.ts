import { expect, test } from 'vitest';
import { mergeBesideGit } from './beside-git.ts';

test.each(Array.from({ length: 4 }, (_, seed) => seed + 1))(
  'the merge, squash and rebase of a thread are those of git in generated history %i',
  async (seed) => {
    const outcomes = await mergeBesideGit(seed);
    expect(Object.keys(outcomes)).toEqual(['merge', 'squash', 'rebase']);
  },
  60_000,
);
