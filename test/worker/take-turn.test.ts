import { expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { createEngine, type Engine } from '../../src/engine/engine.ts';
import { BranchesElsewhere } from '../../src/engine/engine-errors.ts';
import { messageOf, UwfError, type ErrorKind } from '../../src/errors.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import type { Repository } from '../../src/git/repository.ts';
import { RemoteUnreachable } from '../../src/git/transport/git-output.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import type { Remote } from '../../src/git/transport/remote.ts';
import { letGoOn, stopWork } from '../../src/sync/stop-work.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import type { ThreadId } from '../../src/thread/thread-id.ts';
import { ClaimLost } from '../../src/worker/claims.ts';
import type { JobFinder } from '../../src/worker/find-jobs.ts';
import { takeTurns } from '../../src/worker/take-turn.ts';
import type { TurnLock } from '../../src/worker/turn-queue.ts';
import type { TurnWorld } from '../../src/worker/publisher.ts';
import { createBlockFixture, withBlock } from '../engine/blocks/block-fixture.ts';
import { reply, scripted, statuses, workflow } from '../engine/engine-fixture.ts';
import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { pushThread } from './pushed-thread.ts';

const env = isolatedGitEnvironment;

/** A new clone of a remote, and the remote as it sees it. */
async function openClone(host: string): Promise<{ repository: Repository; remote: Remote }> {
  const clone = createTemporaryFolder();
  runGit(clone, ['init', '-q', '.']);
  runGit(clone, ['remote', 'add', 'origin', host]);
  const repository = await openRepository(clone, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: clone, direction: 'push', mayAsk: false });
  return { repository, remote };
}

/** Nothing decides from it here. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing of it is used.
const context = {} as EngineContext;
const lock: TurnLock = { signal: new AbortController().signal, losses: [], lose: () => expect.unreachable() };

test('a turn without a claim is not taken while the work on its thread is stopped at the remote', async () => {
  const { host, thread, head } = await pushThread();
  const { repository, remote } = await openClone(host);
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
    identity: { worker: 'w', host: 'h' },
    context,
    openEngine: () => expect.unreachable(),
    sync: { env },
    goesOn: () => true,
    onEvent: () => {},
    onPublished: () => Promise.resolve(),
    onTrouble: () => expect.unreachable(),
    onUnable: () => expect.unreachable(),
  };
  const take = (): ReturnType<typeof takeTurns> =>
    takeTurns(world, { remote: 'origin', thread, head, needs: [] }, lock);

  await stopWork(repository, remote, [{ thread, head }], { env });
  expect([await take(), asked]).toEqual(['stale', 0]);
  await letGoOn(repository, remote, [{ thread, head }], { env });
  expect([await take(), asked]).toEqual(['again', 1]);
  await repository.close();
});

test('a worker that has lost a thread says whether it is over, was stopped, or has another worker', async () => {
  const { host, dir, thread, head } = await pushThread();
  const { repository, remote } = await openClone(host);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing else of it is used.
  const finder = { isWantedAt: () => Promise.resolve(true) } as unknown as JobFinder;
  const said: string[] = [];
  let change: () => Promise<unknown> = () => Promise.resolve();
  const world: TurnWorld = {
    repository,
    remote,
    finder,
    identity: { worker: 'w', host: 'h' },
    context,
    openEngine: async () => {
      await change();
      throw new ClaimLost(thread);
    },
    sync: { env },
    goesOn: () => true,
    onEvent: () => {},
    onPublished: () => Promise.resolve(),
    onTrouble: (trouble) => said.push(messageOf(trouble)),
    onUnable: () => expect.unreachable(),
  };
  const job = { remote: 'origin', thread, head, needs: [] };
  const lose = async (how: typeof change): Promise<void> => {
    change = how;
    const fence: TurnLock['fence'] = { push: () => expect.unreachable(), hold: () => {} };
    expect(await takeTurns(world, job, { ...lock, fence })).toBe('again');
  };

  await lose(() => Promise.resolve());
  await lose(() => stopWork(repository, remote, [{ thread, head }], { env }));
  await lose(async () => {
    const first = await openRepository(dir, { env });
    await createEngine({ repository: first, config: { agents: {}, roles: {} } }).cancel(thread);
    await first.close();
    runGit(dir, ['push', '-q', 'origin', `:refs/threads/${thread}`, 'refs/history/*']);
  });
  expect(said).toEqual([
    `another worker has taken over thread ${thread}`,
    `thread ${thread} was stopped at origin; this turn is not published`,
    expect.stringContaining(`thread ${thread} is over: `),
  ]);
  await repository.close();
});

test('a branch is held to what its siblings have used by now on machines that still have them claimed', async () => {
  const spent = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.5 };
  const config = scripted({ planner: ['---\nok: true\n---\nA plan.\n'] });
  const worker = { reply: reply('good'), usage: spent };
  config.agents['paid'] = {
    name: 'paid',
    package: 'builtin:scripted',
    config: { replies: { worker: [worker] }, repeat: true },
  };
  config.roles['worker'] = 'paid';
  const thrice = workflow('thrice', { worker: statuses('good') }, [
    'worker',
    { from: 'worker', to: 'worker', when: "$visits('worker') < 3" },
    'worker > end',
  ]);
  const shared = { sharesTurns: true, workTrees: createTemporaryFolder() };
  const { dir, engine, repository: first } = await createBlockFixture({ config }, [thrice], shared);
  runGit(dir, ['commit', '-q', '--allow-empty', '-m', 'code']);
  const branch = { workflow: 'thrice', prompt: 'Do {{ key }}.' };
  const block = await withBlock({ isolation: 'worktree', branches: { a: branch, b: branch }, join: 'all' });
  const { thread } = await engine.start({ definition: { ...block, limits: { maxCostUsd: 1.5 } }, prompt: 'Go.' });
  await engine.step(thread);
  await expect(engine.step(thread)).rejects.toBeInstanceOf(BranchesElsewhere);

  const env = isolatedGitEnvironment;
  const [host, clone] = [createTemporaryFolder(), createTemporaryFolder()];
  runGit(host, ['init', '-q', '--bare', '.']);
  runGit(dir, ['remote', 'add', 'origin', host]);
  runGit(dir, ['push', '-q', 'origin', 'HEAD:refs/heads/main', 'refs/threads/*']);
  runGit(clone, ['clone', '-q', '--branch', 'main', host, '.']);
  runGit(clone, ['fetch', '-q', 'origin', 'refs/threads/*:refs/threads/*']);
  // The ids of a thread's children begin with the time of its last step: siblings are not among what is fetched for those.
  const second = await openRepository(clone, { env, now: () => Date.now() + 60_000 });
  const [a, b] = (await engine.list()).map((each) => each.thread).filter((each) => each !== thread) as [
    ThreadId,
    ThreadId,
  ];

  const began: string[] = [];
  const takeOne = async (repository: Repository, of: ThreadId): Promise<void> => {
    const cwd = repository.location?.workTree ?? '';
    const remote = await openRemote(repository, 'origin', { env, cwd, direction: 'push', mayAsk: false });
    const head = (await getThread(repository, of)).head;
    const workTrees = createTemporaryFolder();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing else of it is used.
    const finder = { isWantedAt: () => Promise.resolve(true) } as unknown as JobFinder;
    const world: TurnWorld = {
      repository,
      remote,
      finder,
      identity: { worker: 'w', host: 'h' },
      context,
      openEngine: (given) =>
        Promise.resolve(createEngine({ repository, config, env, workTrees, sharesTurns: true, ...given })),
      sync: { env, withCommits: true },
      goesOn: () => false,
      onEvent: (event) => event.event === 'step.started' && began.push(event.thread),
      onPublished: () => Promise.resolve(),
      onTrouble: () => expect.unreachable(),
      onUnable: () => expect.unreachable(),
    };
    const job = { remote: 'origin', thread: of, head, needs: [] };
    expect(await takeTurns(world, job, lock)).toBe('done');
  };
  await takeOne(second, b);
  await takeOne(first, a);
  await takeOne(first, a);
  await takeOne(second, b);
  expect(began).toEqual([b, a, a]);
  expect((await createEngine({ repository: second, config }).describe(b)).status).toBe('suspended');
  await second.close();
});

/** An error of a kind. */
const fault = (kind: ErrorKind): Error => new UwfError('it went wrong', { code: 'x', kind });

test.each<[string, Error, boolean, boolean]>([
  ['a fault of the program', new Error('it went wrong'), true, true],
  ['a full disk', fault('environment'), true, true],
  ['a full disk before it began', fault('environment'), false, false],
  ['another process', fault('conflict'), true, false],
  ['a person who stops it', fault('interrupted'), true, false],
  ['a missing agent', fault('agent'), true, false],
  ['a remote that is away', new RemoteUnreachable('origin', 'no route'), true, false],
])('a turn that %s ended counts as lost if it was begun and that says something about it', async (...given) => {
  const [, error, hasBegun, isLost] = given;
  const { host, thread, head } = await pushThread();
  const { repository, remote } = await openClone(host);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing else of it is used.
  const finder = { isWantedAt: () => Promise.resolve(true) } as unknown as JobFinder;
  const world: TurnWorld = {
    repository,
    remote,
    finder,
    context,
    identity: { worker: 'w', host: 'h' },
    openEngine: ({ onEvent }) => {
      const step = (): Promise<never> => {
        const about = { thread, role: 'a', agent: 'a', number: 1, visit: 1 };
        if (hasBegun) onEvent({ event: 'step.started', ...about });
        return Promise.reject(error);
      };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing else of it is used.
      return Promise.resolve({ describe: async () => ({ status: 'idle' }), step } as unknown as Engine);
    },
    sync: { env },
    goesOn: () => true,
    onEvent: () => {},
    onPublished: () => Promise.resolve(),
    onTrouble: () => {},
    onUnable: () => {},
  };
  const lost: string[] = [];
  const job = { remote: 'origin', thread, head, needs: [] };
  await takeTurns(world, job, { ...lock, lose: (what) => void lost.push(what) }).catch(() => {});
  expect(lost).toEqual(isLost ? ['w on h: it went wrong'] : []);
  await repository.close();
});
