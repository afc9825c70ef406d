import { expect, test } from 'vitest';
import { openRepository } from '../../src/git/open-repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { letGoOn, stopWork } from '../../src/sync/claims/stop-work.ts';
import type { JobFinder } from '../../src/worker/find-jobs.ts';
import { takeTurns } from '../../src/worker/take-turn.ts';
import type { TurnWorld } from '../../src/worker/turn-world.ts';
import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { pushThread } from './pushed-thread.ts';

test('a turn without a claim is not taken while the work on its thread is stopped at the remote', async () => {
  const { host, thread, head } = await pushThread();
  const clone = createTemporaryFolder();
  runGit(clone, ['init', '-q', '.']);
  runGit(clone, ['remote', 'add', 'origin', host]);
  const env = isolatedGitEnvironment;
  const repository = await openRepository(clone, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: clone, direction: 'push', mayAsk: false });
  let asked = 0;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing else of it is used where no turn is wanted.
  const finder = {
    isWantedAt: () => Promise.resolve((asked += 1) < 0),
    canGoOn: () => Promise.resolve(true),
  } as unknown as JobFinder;
  const world: TurnWorld = {
    repository,
    remote,
    finder,
    openEngine: () => expect.unreachable(),
    sync: { env },
    goesOn: () => true,
    onEvent: () => {},
    onPublished: () => Promise.resolve(),
    onTrouble: expect.unreachable,
    onUnable: () => expect.unreachable(),
  };
  const take = (): ReturnType<typeof takeTurns> =>
    takeTurns(
      world,
      { remote: 'origin', thread, head, needs: [] },
      { signal: new AbortController().signal, losses: 0 },
    );

  await stopWork(repository, remote, [{ thread, head }], { env });
  expect([await take(), asked]).toEqual(['stale', 0]);
  await letGoOn(repository, remote, [{ thread, head }], { env });
  expect([await take(), asked]).toEqual(['again', 1]);
  await repository.close();
});
