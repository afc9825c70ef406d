import { beforeAll, describe, expect, test } from 'vitest';
import { checkAll, refusals } from '../verify/incoming/incoming-fixture.ts';
import { createHostileRemote, type HostileRemote } from './hostile-remote.ts';

describe('of what a hostile remote has', () => {
  let hostile: HostileRemote;
  let faults: Map<string, string>;
  beforeAll(async () => {
    hostile = await createHostileRemote({
      sound: 5,
      largeBytes: 101 * 1024 * 1024,
      garbageRefs: 100,
      endlessRules: true,
      isFetched: false,
    });
    faults = await checkAll(hostile.remote);
  }, 120_000);

  test('all that is not sound is refused, for the right reason', () => {
    const refused = refusals(faults);
    const wrong = [...hostile.reasons].filter(([ref, reason]) => !reason.test(refused[ref] ?? ''));
    expect(wrong.map(([ref, reason]) => `${ref}: ${refused[ref]} is not ${reason}`)).toEqual([]);
  });

  test('everything else is sound', () => {
    const refused = Object.entries(refusals(faults)).filter(([ref]) => !hostile.reasons.has(ref));
    expect(refused).toEqual([]);
    expect(hostile.remote.refMap.size).toBeGreaterThan(hostile.reasons.size + 5);
  });
});
