import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Repository } from '../../src/git/repository.ts';
import { syncThreads } from '../../src/sync/sync-threads.ts';
import { DirectRemote } from '../helpers/direct-remote.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { createTemporaryFolder } from '../helpers/temporary-repository.ts';
import {
  act,
  contextOf,
  createLedger,
  describeStanding,
  expectComplete,
  findLost,
  type Action,
  type Clone,
} from './clones.ts';
import { join } from 'node:path';

const RUNS = Number(process.env['UWF_SYNC_SEQUENCES'] ?? 100);

const action: fc.Arbitrary<Action> = fc.record({
  clone: fc.nat({ max: 2 }),
  pick: fc.nat({ max: 5 }),
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constant('start' as const) },
    { weight: 6, arbitrary: fc.constant('append' as const) },
    { weight: 6, arbitrary: fc.constant('sync' as const) },
    { weight: 2, arbitrary: fc.constantFrom('poke' as const, 'fork' as const, 'end' as const) },
    { weight: 1, arbitrary: fc.constantFrom('remove' as const, 'remove there' as const, 'register' as const) },
    { weight: 2, arbitrary: fc.constantFrom('fetch' as const, 'push' as const) },
  ),
});

/** Does all of it, has everybody sync twice, and says what is wrong then. */
async function play(clones: readonly Clone[], server: Repository, actions: readonly Action[]): Promise<void> {
  const ledger = createLedger();
  for (const one of actions) {
    const clone = clones[one.clone];
    if (clone) await act(clone, one, ledger);
  }
  for (let round = 1; round <= 2; round += 1) {
    for (const { repository, remote } of clones) {
      const { fetched, pushed } = await syncThreads(contextOf(repository), remote);
      expect([...fetched.refused, ...pushed.rejected]).toEqual([]);
      const held = [...fetched.held, ...pushed.held].filter(({ thread }) => !ledger.removed.has(thread));
      expect(held).toEqual([]);
    }
  }
  const expected = await describeStanding(server, ledger);
  for (const { repository } of clones) {
    expect(await describeStanding(repository, ledger)).toEqual(expected);
    expect(await findLost(repository, ledger)).toEqual([]);
    for (const thread of ledger.ended) {
      const refs = await repository.refs.list(`refs/threads/`);
      expect(refs.map(({ name }) => name)).not.toContain(`refs/threads/${thread}`);
    }
    await expectComplete(repository);
  }
}

describe('three clones that work on the same threads', () => {
  test(`agree after syncing twice, whatever each did before: ${RUNS} sequences`, async () => {
    const folder = createTemporaryFolder();
    let number = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
        number += 1;
        let clockMs = Date.parse('2026-11-21T12:00:00Z');
        const server = createMapRepository();
        const clones = ['Ada', 'Ben', 'Cleo'].map((name): Clone => {
          const repository = {
            ...createMapRepository(),
            stateDir: join(folder, String(number), name),
            committer: { name, email: `${name}@example.com` },
            // Half a day passes between two things that somebody does: threads end on different days.
            now: () => (clockMs += 43_200_000 / 8),
          };
          return { repository, remote: new DirectRemote(repository, server) };
        });
        await play(clones, server, actions);
      }),
      { numRuns: RUNS, ...(process.env['UWF_SEED'] && { seed: Number(process.env['UWF_SEED']) }) },
    );
  }, 600_000);
});
