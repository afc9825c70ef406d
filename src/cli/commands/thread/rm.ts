import { forgetThread } from '../../../engine/local-traces.ts';
import type { Repository } from '../../../git/repository.ts';
import { lastSeenAt } from '../../../sync/last-seen-at.ts';
import { listPointers, type ThreadPointer } from '../../../thread/find-thread.ts';
import { removeThreads } from '../../../thread/remove-thread.ts';
import { readThreadCommit } from '../../../thread/thread-commit.ts';
import { defineCommand, type Command } from '../../command.ts';
import { parseMoment } from '../../input/parse-value.ts';
import { openToWrite } from '../../open-repository.ts';
import type { Palette } from '../../output/palette.ts';
import { oneLine } from '../../output/width.ts';
import type { RemovedEverywhere } from '../../remove-everywhere.ts';
import { removeHere, type RemovedThread } from '../../remove-here.ts';
import { UsageError } from '../../usage-error.ts';

type Removed = RemovedThread & Partial<RemovedEverywhere>;

/** So many threads lose their refs in one change. */
const BATCH = 500;

export const command: Command = defineCommand({
  summary: 'remove threads from this repository',
  description: `Removes a thread's refs, what was put under it, and what this machine keeps of it (journal, sessions); its commits are then
git's to collect, unless another thread (a fork, a parent) still has them. A thread that is not over is removed with
--force only, one that a process works on not at all.

This machine remembers that, and no fetch brings the thread back until it is named: 'uwf fetch <remote> <thread>'. Remotes
keep it. With --remote it is removed there, too, and a mark is left by which the next sync of others removes it from theirs,
unless they have steps of it that the remote never had.

With --ended --before it removes all threads that were over by then.`,
  arguments: [
    { name: 'thread', summary: "the thread's id, or its first characters", isOptional: true, candidates: 'thread' },
  ],
  options: {
    force: { short: 'f', summary: 'remove it although it is not over' },
    ended: { summary: 'remove all threads that are over; needs --before' },
    before: { value: '<when>', summary: 'only those that were over before then: 90d, 2026-11-21', parse: parseMoment },
    remote: {
      value: '<remote>',
      isValueOptional: true,
      summary: 'remove it there, too; by default the remote that git would push to',
    },
    'dry-run': { short: 'n', summary: 'say what would be removed, and remove nothing' },
  },
  json: {
    shape: 'object',
    fields: {
      thread: 'the thread, or with --before a list of all these',
      head: 'the commit that it was at; null if only the remote had it',
      remote: 'with --remote, where it was removed, too; null if that did not have it',
    },
  },
  examples: [
    { command: 'uwf thread rm 01KAM4', comment: 'a thread that is over' },
    { command: 'uwf thread rm --ended --before 90d', comment: 'all that have been over for 90 days' },
    { command: 'uwf thread rm 01KAM4 --remote=origin', comment: 'for everybody' },
    { command: 'git fetch . <head>:refs/threads/<thread>', comment: 'and back again, until git has collected it' },
  ],
  async run({ args, options, cli, out }) {
    if (args.thread === undefined && !(options.ended && options.before)) {
      throw new UsageError("'uwf thread rm' needs a thread", 'name one, or all that are over: --ended --before 90d');
    }
    if (args.thread !== undefined && (options.ended || options.before)) {
      throw new UsageError('a thread and --ended or --before cannot be given together');
    }
    const { remote } = options;
    if (args.thread === undefined && remote !== undefined) {
      throw new UsageError('--remote removes one thread at a time', 'name it');
    }
    const isDry = options['dry-run'];
    const repository = await openToWrite(cli);
    const seenAt = await lastSeenAt(repository);
    let removed: Removed[];
    if (args.thread === undefined) {
      const threads = await findEndedBefore(repository, options.before?.(cli.now()) ?? 0);
      if (!isDry) await removeAll(repository, threads);
      removed = threads.map(({ id, head }) => ({ thread: id, head }));
    } else if (remote === undefined) {
      removed = [await removeHere(repository, args.thread, { force: options.force, isDry })];
    } else {
      const { removeEverywhere } = await import('../../remove-everywhere.ts');
      const name = remote === true ? undefined : remote;
      removed = [await removeEverywhere(cli, repository, name, args.thread, { force: options.force, isDry })];
    }
    const [only] = removed;
    await out.result(args.thread !== undefined && only ? only : removed, () =>
      removed.map((each) => lineOf(each, isDry, out.paint)).join('\n'),
    );
    if (removed.length === 0) out.hint('no thread was over by then');
    const shared = remote === undefined && !isDry ? removed.find(({ thread }) => seenAt.has(thread)) : undefined;
    if (shared) {
      const [where = ''] = seenAt.get(shared.thread) ?? [];
      out.hint(`${where} still has it, and no fetch brings it back but 'uwf fetch ${where} ${shared.thread}'`);
    }
  },
});

function lineOf({ thread, head, remote }: Removed, isDry: boolean, paint: Palette): string {
  const verb = isDry ? 'would remove' : 'removed';
  const there =
    remote === undefined ? '' : remote === null ? '; the remote did not have it' : ` at ${oneLine(remote)}, too`;
  if (head === null) return `${verb} thread ${paint.id(thread)} at ${oneLine(remote ?? '')}; it was not here`;
  return `${verb} thread ${paint.id(thread)} (was ${head})${there}`;
}

/**
 * The ended threads under `refs/history/`; nobody writes to those any more, so that they need no lease. Their heads say
 * when they ended, and nothing that this machine remembers of them; those that cannot be read stay.
 */
async function findEndedBefore(repository: Repository, beforeMs: number): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  for (const pointer of await listPointers(repository, { history: true })) {
    const head = await readThreadCommit(repository, pointer.head).catch(() => undefined);
    if (head?.kind === 'end' && head.node.completedAtMs < beforeMs) found.push(pointer);
  }
  return found;
}

async function removeAll(repository: Repository, threads: readonly ThreadPointer[]): Promise<void> {
  for (let at = 0; at < threads.length; at += BATCH) {
    const batch = threads.slice(at, at + BATCH);
    await removeThreads(repository, batch);
    for (const { id } of batch) forgetThread(repository, id);
  }
}
