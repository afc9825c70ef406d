import { beforeAll, describe, expect, test } from 'vitest';
import type { Verdict } from '../../src/sync/check-incoming.ts';
import { checkAll, refusals } from './incoming-fixture.ts';
import { createHostileRemote, type HostileRemote } from './hostile-remote.ts';

describe('of what a hostile remote has', () => {
  let hostile: HostileRemote;
  let verdicts: Map<string, Verdict>;
  beforeAll(async () => {
    hostile = await createHostileRemote({
      sound: 5,
      largeBytes: 101 * 1024 * 1024,
      garbageRefs: 100,
      endlessRules: true,
    });
    verdicts = await checkAll(hostile.remote);
  }, 120_000);

  test('all that is not sound is refused, for the right reason', () => {
    const refused = refusals(verdicts);
    const wrong = [...hostile.reasons].filter(([ref, reason]) => !reason.test(refused[ref] ?? ''));
    expect(wrong.map(([ref, reason]) => `${ref}: ${refused[ref]} is not ${reason}`)).toEqual([]);
  });

  test('everything else is sound', () => {
    const refused = Object.entries(refusals(verdicts)).filter(([ref]) => !hostile.reasons.has(ref));
    expect(refused).toEqual([]);
    expect(verdicts.size).toBeGreaterThan(hostile.reasons.size + 5);
  });
});
