import { openRemote } from '../../src/git/transport/open-remote.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { parseThreadId, type ThreadId } from '../../src/thread/thread-id.ts';
import { monotonicMs } from '../../src/time/clock.ts';
import { Claims } from '../../src/worker/claims.ts';
import { GitQueue } from '../../src/worker/git-queue.ts';
import { RemoteView } from '../../src/worker/find-jobs.ts';
import type { TurnJob, TurnQueue } from '../../src/worker/turn-queue.ts';
import { describeTurnQueue } from '../contracts/turn-queue.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
} from '../helpers/temporary-repository.ts';

const DEADLINE_MS = 2_000;
const LOOK_EVERY_MS = 50;

describeTurnQueue('git', async () => {
  const host = createTemporaryFolder();
  runGit(host, ['init', '-q', '--bare', '.']);
  const laptop = createLoopRepository();
  const jobs = new Map<ThreadId, TurnJob>();
  const has = (thread: ThreadId): boolean => runGit(host, ['for-each-ref', `refs/threads/${thread}`]) !== '';
  const end = (thread: ThreadId): void => void runGit(host, ['update-ref', '-d', `refs/threads/${thread}`]);
  const stops: (() => void)[] = [];

  /** A machine with a clone, which looks at the remote as a worker does. Threads are offered and ended at the remote. */
  const makeQueue = async (): Promise<TurnQueue> => {
    const { dir } = createTemporaryRepository();
    runGit(dir, ['remote', 'add', 'origin', host]);
    const env = isolatedGitEnvironment;
    const repository = await openRepository(dir, { env });
    const remote = await openRemote(repository, 'origin', { env, cwd: dir, direction: 'push', mayAsk: false });
    const view = new RemoteView(repository, remote, { env, onTrouble: () => {} });
    const session = Math.random().toString(16).slice(2, 18).padEnd(16, '0');
    const claims = new Claims(repository, remote, { worker: 'w', host: 'h', session, deadlineMs: DEADLINE_MS });
    const queue = new GitQueue(claims, view, DEADLINE_MS / 3, monotonicMs);
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await view.look((id) => claims.isOwn(id), stop.signal);
        const there = [...view.threads.keys()].flatMap((thread) => jobs.get(thread) ?? []);
        // The finder of a worker leaves out what is not fetched yet, too.
        const has = await Promise.all(there.map(({ head }) => repository.objects.has(head)));
        await queue.offer(there.filter((_, at) => has[at]));
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    };
    let looking: Promise<void> | undefined;
    stops.push(() => stop.abort());
    return {
      async offer(offered) {
        for (const { thread, head } of offered)
          if (!has(thread)) runGit(host, ['update-ref', `refs/threads/${thread}`, head]);
      },
      async work(take, options) {
        const work = await queue.work(async (job, lock) => {
          const verdict = await take(job, lock);
          if (verdict !== 'again') end(job.thread);
          return verdict;
        }, options);
        looking = look().catch(() => {});
        return work;
      },
      async close() {
        stop.abort();
        await looking;
        await queue.close();
        await repository.close();
      },
    };
  };

  return {
    makeQueue,
    async seedThread(needs = []) {
      const started = (await laptop.json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
      const thread = parseThreadId(started.thread);
      const head = runGit(laptop.dir, ['rev-parse', `refs/threads/${thread}`]);
      // The objects are there; the thread is not, until it is offered.
      runGit(laptop.dir, ['push', '-q', host, `refs/threads/${thread}:refs/seeds/${thread}`]);
      const job = { remote: 'origin', thread, head, needs } as TurnJob;
      jobs.set(thread, job);
      return job;
    },
    async takeAway({ thread, head }) {
      runGit(host, ['update-ref', `refs/uwf/claims/${thread}`, head]);
    },
    many: 25,
    async dispose() {
      for (const stop of stops) stop();
    },
  };
});
