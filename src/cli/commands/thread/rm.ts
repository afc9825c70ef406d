import { describeThread, listThreads } from '../../../engine/describe.ts';
import { takeLease } from '../../../engine/lease.ts';
import { forgetThread } from '../../../engine/local-traces.ts';
import type { Repository } from '../../../git/repository.ts';
import { getThread, listPointers, type ThreadPointer } from '../../../thread/find-thread.ts';
import { removeThread, removeThreads } from '../../../thread/remove-thread.ts';
import { WrongThreadState } from '../../../thread/thread-errors.ts';
import { isOver } from '../../../thread/thread-status.ts';
import { defineCommand, type Command } from '../../command.ts';
import { readingContext } from '../../engine-here.ts';
import { parseMoment } from '../../input/parse-value.ts';
import { openToWrite } from '../../open-repository.ts';
import { UsageError } from '../../usage-error.ts';

type Removed = { thread: string; head: string };

/** So many threads lose their refs in one change. */
const BATCH = 500;

export const command: Command = defineCommand({
  summary: 'remove threads from this repository',
  description: `Removes a thread's refs, what was put under it, and what this machine keeps of it (journal, sessions); its commits are then
git's to collect, unless another thread (a fork, a parent) still has them. A thread that is not over is removed with
--force only, one that somebody works on not at all.

With --ended --before it removes all threads that were over by then.`,
  arguments: [
    { name: 'thread', summary: "the thread's id, or its first characters", isOptional: true, candidates: 'thread' },
  ],
  options: {
    force: { short: 'f', summary: 'remove it although it is not over' },
    ended: { summary: 'remove all threads that are over; needs --before' },
    before: { value: '<when>', summary: 'only those that were over before then: 90d, 2026-11-21', parse: parseMoment },
    'dry-run': { short: 'n', summary: 'say what would be removed, and remove nothing' },
  },
  json: {
    shape: 'object',
    fields: { thread: 'the thread, or with --before a list of all these', head: 'the commit that it was at' },
  },
  examples: [
    { command: 'uwf thread rm 01KAM4', comment: 'a thread that is over' },
    { command: 'uwf thread rm --ended --before 90d', comment: 'all that have been over for 90 days' },
    { command: 'git fetch . <head>:refs/threads/<thread>', comment: 'and back again, until git has collected it' },
  ],
  async run({ args, options, cli, out }) {
    if (args.thread === undefined && !(options.ended && options.before)) {
      throw new UsageError("'uwf thread rm' needs a thread", 'name one, or all that are over: --ended --before 90d');
    }
    if (args.thread !== undefined && (options.ended || options.before)) {
      throw new UsageError('a thread and --ended or --before cannot be given together');
    }
    const isDry = options['dry-run'];
    const repository = await openToWrite(cli);
    let removed: Removed[];
    if (args.thread === undefined) {
      const threads = await findEndedBefore(repository, options.before?.(cli.now()) ?? 0);
      if (!isDry) await removeAll(repository, threads);
      removed = threads.map(({ id, head }) => ({ thread: id, head }));
    } else removed = [await removeOne(repository, args.thread, { force: options.force, isDry })];
    const verb = isDry ? 'would remove' : 'removed';
    const [only] = removed;
    await out.result(args.thread !== undefined && only ? only : removed, () =>
      removed.map(({ thread, head }) => `${verb} thread ${out.paint.id(thread)} (was ${head})`).join('\n'),
    );
    if (removed.length === 0) out.hint('no thread was over by then');
  },
});

async function removeOne(
  repository: Repository,
  thread: string,
  { force, isDry }: { force: boolean; isDry: boolean },
): Promise<Removed> {
  const { id, head } = await getThread(repository, thread);
  const { status } = await describeThread(readingContext(repository), id).catch(() => ({ status: 'corrupt' as const }));
  if (!isOver(status) && status !== 'running' && !force) {
    const hint = `'uwf thread cancel ${id}' ends it; --force removes it as it is`;
    throw new WrongThreadState(id, status, 'it is not over', hint);
  }
  if (isDry) return { thread: id, head };
  // Under the lease, so that nobody begins a turn whose step would then have no thread.
  const lease = await takeLease(repository, id);
  try {
    const pointer = await getThread(repository, id);
    await removeThread(repository, pointer);
    forgetThread(repository, id);
    return { thread: id, head: pointer.head };
  } finally {
    lease.release();
  }
}

/** The ended threads under `refs/history/`; nobody writes to those any more, so that they need no lease. */
async function findEndedBefore(repository: Repository, beforeMs: number): Promise<ThreadPointer[]> {
  const statuses = ['ended', 'failed', 'cancelled'] as const;
  const ended = await listThreads(readingContext(repository), { statuses, endedBeforeMs: beforeMs });
  const old = new Set(ended.map(({ thread }) => thread));
  return (await listPointers(repository, { history: true })).filter(({ id }) => old.has(id));
}

async function removeAll(repository: Repository, threads: readonly ThreadPointer[]): Promise<void> {
  for (let at = 0; at < threads.length; at += BATCH) {
    const batch = threads.slice(at, at + BATCH);
    await removeThreads(repository, batch);
    for (const { id } of batch) forgetThread(repository, id);
  }
}
