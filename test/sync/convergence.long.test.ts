import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readingContext } from '../../src/engine/engine-context.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { ThreadChange, WorkflowChange } from '../../src/sync/report.ts';
import { syncThreads } from '../../src/sync/push-threads.ts';
import { DirectRemote } from '../helpers/direct-remote.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../helpers/temporary-repository.ts';
import { act, createLedger, describeStanding, expectComplete, findLost, type Action, type Clone } from './clones.ts';

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

const [ada, ben] = [0, 1];

function inTurn(...moves: readonly (readonly [clone: number, kind: Action['kind'], pick?: number])[]): Game {
  return { actions: moves.map(([clone, kind, pick = 0]) => ({ clone, kind, pick })), areAtOnce: false };
}

const shared = [
  [ada, 'start'],
  [ada, 'append'],
  [ada, 'sync'],
  [ben, 'fetch'],
] as const;

/** For each change that a fetch can bring a game that has somebody meet it: chance alone may leave one out. */
const madeFor: Record<ThreadChange['change'] | WorkflowChange['change'], Game> = {
  new: inTurn([ada, 'start']),
  forward: inTurn(...shared, [ada, 'append']),
  forked: inTurn(...shared, [ada, 'append'], [ben, 'append']),
  ended: inTurn(...shared, [ada, 'end']),
  removed: inTurn(...shared, [ada, 'remove there']),
  joined: inTurn([ada, 'register', 1], [ben, 'register', 2]),
};

/** The repositories of one game. */
type Table = { server: Repository; clones: readonly Clone[]; close: () => Promise<void> };

/** Does all of it, has everybody sync twice, and looks whether all have the same, and all that they should. */
async function play({ clones, server }: Table, { actions, areAtOnce }: Game, seen: Set<string>): Promise<void> {
  const ledger = createLedger();
  const sync = async ({ repository, remote }: Clone): Promise<void> => {
    const { fetched, pushed } = await syncThreads(readingContext(repository), remote);
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

async function playOne(lay: () => Promise<Table>, one: Game): Promise<Set<string>> {
  const seen = new Set<string>();
  const table = await lay();
  try {
    await play(table, one, seen);
  } finally {
    await table.close();
  }
  return seen;
}

/** @returns how many games were played to their end */
async function playByChance(runs: number, lay: () => Promise<Table>): Promise<number> {
  let played = 0;
  const property = fc.asyncProperty(game, async (one) => {
    await playOne(lay, one);
    played += 1;
  });
  await fc.assert(property, { numRuns: runs, ...seed });
  return played;
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
  // Otherwise nobody might get into anybody's way.
  describe.each([
    ['in memory', layInMemory],
    ['by native git', layOnDisk],
  ])('%s', (_, lay) => {
    test.each(Object.entries(madeFor))('one of them meets what is %s', async (change, made) => {
      expect([...(await playOne(lay, made))]).toContain(change);
    });
  });

  test(`in memory: ${IN_MEMORY} sequences`, async () => {
    expect(await playByChance(IN_MEMORY, layInMemory)).toBe(IN_MEMORY);
  }, 900_000);

  test(`by native git: ${BY_GIT} sequences`, async () => {
    expect(await playByChance(BY_GIT, layOnDisk)).toBe(BY_GIT);
  }, 3_600_000);
});
