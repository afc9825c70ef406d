import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openRemote } from '../../src/git/open-remote.ts';
import type { Repository } from '../../src/git/repository.ts';
import { syncThreads } from '../../src/sync/sync-threads.ts';
import { DirectRemote } from '../helpers/direct-remote.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../helpers/temporary-repository.ts';
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

/** How many sequences of actions are tried: between repositories in memory, and by native git between such on disk. */
const IN_MEMORY = Number(process.env['SYNC_SEQUENCES'] ?? 60);
const BY_GIT = Number(process.env['SYNC_SEQUENCES_BY_GIT'] ?? 3);
const seed = process.env['SYNC_SEED'] === undefined ? {} : { seed: Number(process.env['SYNC_SEED']) };

const names = ['Ada', 'Ben', 'Cleo'];

const action: fc.Arbitrary<Action> = fc.record({
  clone: fc.nat({ max: names.length - 1 }),
  pick: fc.nat({ max: 5 }),
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('append' as const, 'sync' as const) },
    { weight: 3, arbitrary: fc.constantFrom('start' as const, 'poke' as const, 'fork' as const, 'end' as const) },
    { weight: 1, arbitrary: fc.constantFrom('remove' as const, 'remove there' as const, 'register' as const) },
    { weight: 1, arbitrary: fc.constantFrom('fetch' as const, 'push' as const) },
  ),
});

/** Half the time everybody syncs at once in the end, half the time one after the other. */
const game = fc.record({
  actions: fc.array(action, { minLength: 10, maxLength: 40 }),
  areAtOnce: fc.boolean(),
});

type Game = { actions: Action[]; areAtOnce: boolean };

/** The repositories of one game. */
type Table = { server: Repository; clones: readonly Clone[]; close: () => Promise<void> };

/** Does all of it, has everybody sync twice, and looks whether all have the same, and all that they should. */
async function play({ clones, server }: Table, { actions, areAtOnce }: Game, seen: Set<string>): Promise<void> {
  const ledger = createLedger();
  const sync = async ({ repository, remote }: Clone): Promise<void> => {
    const { fetched, pushed } = await syncThreads(contextOf(repository), remote);
    for (const { change } of [...fetched.threads, ...fetched.workflows]) seen.add(change);
    expect([...fetched.refused, ...pushed.rejected]).toEqual([]);
    const held = [...fetched.held, ...pushed.held].filter(({ thread }) => !ledger.removed.has(thread));
    expect(held).toEqual([]);
  };
  for (const one of actions) {
    const clone = clones[one.clone];
    if (clone) await act(clone, one, ledger);
  }
  if (areAtOnce) await Promise.all(clones.map(sync));
  else for (const clone of clones) await sync(clone);
  for (const clone of clones) await sync(clone);
  const expected = await describeStanding(server, ledger);
  for (const { repository } of clones) {
    expect(await describeStanding(repository, ledger)).toEqual(expected);
    expect(await findLost(repository, ledger)).toEqual([]);
    const active = (await repository.refs.list('refs/threads/')).map(({ name }) => name);
    for (const thread of ledger.ended) {
      if (!ledger.removed.has(thread)) expect(active).not.toContain(`refs/threads/${thread}`);
    }
    await expectComplete(repository);
  }
}

async function playAll(runs: number, lay: () => Promise<Table>): Promise<string[]> {
  const seen = new Set<string>();
  const property = fc.asyncProperty(game, async (one) => {
    const table = await lay();
    try {
      await play(table, one, seen);
    } finally {
      await table.close();
    }
  });
  await fc.assert(property, { numRuns: runs, ...seed });
  return [...seen].toSorted();
}

let clockMs = Date.parse('2026-11-21T12:00:00Z');
/** One for all games: ids never go back in time within a process. */
const now = (): number => (clockMs += 2 * 3_600_000);

async function layInMemory(): Promise<Table> {
  const folder = createTemporaryFolder();
  const server = createMapRepository();
  const clones = names.map((name): Clone => {
    const committer = { name, email: `${name}@example.com` };
    const repository = { ...createMapRepository(), stateDir: join(folder, name), committer, now };
    return { repository, remote: new DirectRemote(repository, server) };
  });
  return { server, clones, close: async () => {} };
}

async function layOnDisk(): Promise<Table> {
  const bare = createTemporaryRepository({ bare: true });
  const server = await bare.open();
  const dirs = names.map(() => createTemporaryRepository());
  const clones: Clone[] = [];
  for (const dir of dirs) {
    dir.git('remote', 'add', 'origin', bare.dir);
    const name = names[clones.length] ?? '';
    const repository = { ...(await dir.open()), committer: { name, email: `${name}@example.com` }, now };
    const remote = await openRemote(repository, 'origin', { env: isolatedGitEnvironment });
    clones.push({ repository, remote });
  }
  const close = async (): Promise<void> => {
    for (const { repository } of clones) await repository.close();
    await server.close();
    for (const { dir } of [bare, ...dirs]) expectCleanFsck(dir);
    for (const { remove } of [bare, ...dirs]) remove();
  };
  return { server, clones, close };
}

describe('three clones that work on the same threads agree after syncing twice, whatever each did before', () => {
  test(`in memory: ${IN_MEMORY} sequences`, async () => {
    const seen = await playAll(IN_MEMORY, layInMemory);
    // Otherwise nobody got into anybody's way.
    expect(seen).toEqual(['ended', 'forked', 'forward', 'joined', 'new', 'removed']);
  }, 900_000);

  test(`by native git: ${BY_GIT} sequences`, async () => {
    expect(await playAll(BY_GIT, layOnDisk)).toContain('new');
  }, 3_600_000);
});
