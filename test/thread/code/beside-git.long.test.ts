import { expect, test } from 'vitest';
import { mergeBesideGit } from './beside-git.ts';

/** `SUITE_HISTORIES=120` is the whole campaign. */
const COUNT = Number(process.env['SUITE_HISTORIES'] ?? 40);

test(`the merge, squash and rebase of a thread are those of git in ${COUNT} generated histories`, async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= COUNT; seed += 1) {
    for (const [mode, outcome] of Object.entries(await mergeBesideGit(seed))) {
      const key = `${mode}: ${outcome}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  for (const mode of ['merge', 'squash', 'rebase']) {
    for (const outcome of ['merged', 'conflict'])
      expect(counts.get(`${mode}: ${outcome}`), mode).toBeGreaterThan(COUNT / 12);
  }
}, 1_800_000);
