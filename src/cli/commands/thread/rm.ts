import { findLease } from '../../../engine/leases/find-lease.ts';
import { takeLease } from '../../../engine/leases/lease.ts';
import { messageOf } from '../../../errors.ts';
import { plural } from '../../../text/wording.ts';
import type { ObjectId } from '../../../git/format/object-id.ts';
import type { GitEnvironment, Repository } from '../../../git/repository.ts';
import { lastSeenAt, ThreadNotThere } from '../../../sync/shared-refs.ts';
import { removeRemoteThread } from '../../../sync/remove-remote-thread.ts';
import { findArchivePlace } from '../../../thread/archive-list.ts';
import { amountOf, findUnmergedWork, NotMerged, type UnmergedWork } from '../../../thread/code/thread-code.ts';
import { faultOf, NewerFormat, WrongThreadState } from '../../../thread/thread-errors.ts';
import { findThread, getThread, listPointers } from '../../../thread/find-thread.ts';
import {
  activeRef,
  ARCHIVE_PREFIX,
  isThreadId,
  REMOTES_PREFIX,
  scratchRef,
  type ThreadId,
  type ThreadPointer,
} from '../../../thread/thread-id.ts';
import { readThreadCommit } from '../../../thread/thread-commit.ts';
import { isOver, statusOfHead, type ThreadStatus } from '../../../thread/thread-state.ts';
import { removeThread, removeThreads } from '../../../thread/remove-thread.ts';
import { type Command, defineCommand, momentOption, optionalThreadArgument } from '../../command-line/command.ts';
import { EXIT, UsageError } from '../../errors/exit-code.ts';
import { openRemoteHere, withExchangeOptions } from '../../open/open-remote.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { oneLine, type Palette } from '../../output/text.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';
import { inPlaceOf } from '../../../or-else.ts';

/**
 * A thread that was removed; `head` is null if it was not here. `unmerged` is what was nowhere but in it. `remote` is where it was
 * removed too, with --remote; null if the remote did not have it.
 */
type Removed = {
  thread: ThreadId;
  head: ObjectId | null;
  unmerged: UnmergedWork | null;
  remote?: string | null;
};

type How = { env: GitEnvironment; force: boolean; isDry: boolean };

/** So many threads lose their refs in one change. */
const BATCH = 500;

export const threadRmCommand: Command = defineCommand({
  description: `Removes a thread's refs, what was put under it, and what this machine keeps of it (journal, sessions); its
commits are then git's to collect, unless another thread (a fork, a parent) still has them. A thread that is not over, or whose work
in a work tree of its own is merged nowhere, is removed with --force only, one that a process works on not at all.

A later fetch does not bring the thread back unless you name it: 'uwf fetch <remote> <thread>'. Remotes keep it. --remote
removes it there too and leaves a mark: the next sync of others removes their copy, unless it has steps that the remote
never had.

With --ended --before it removes all threads that were over by then; those with work that is merged nowhere stay.`,
  arguments: [optionalThreadArgument],
  options: {
    force: { short: 'f', summary: 'remove it although it is not over, or its work is merged nowhere' },
    ended: { summary: 'remove all threads that are over; needs --before' },
    before: momentOption('only those that were over before then: 90d, 2026-11-21'),
    remote: {
      value: '<remote>',
      isValueOptional: true,
      summary: 'remove it there, too; by default the remote that git would push to',
    },
    'dry-run': { short: 'n', summary: 'say what would be removed, and remove nothing' },
  },
  json: {
    thread: 'the thread, or with --before a list of all these',
    head: 'the commit that it was at; null if only the remote had it',
    unmerged:
      'with --force, its work that was merged nowhere: commits and files (their numbers), and commit, which has the files; null if there was none',
    remote: 'with --remote, where it was removed, too; null if that did not have it',
  },
  exitCodes: { 1: 'the thread stays, or with --before some of the threads: their work is merged nowhere' },
  examples: [
    { command: 'uwf thread rm 01KAM4', comment: 'a thread that is over' },
    { command: 'uwf thread rm --ended --before 90d', comment: 'all that have been over for 90 days' },
    { command: 'uwf thread rm 01KAM4 --remote=origin', comment: 'for all who share it' },
    { command: 'git fetch . <head>:refs/threads/<thread>', comment: 'bring it back, until git has collected it' },
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
    const how = { env: cli.env, force: options.force, isDry: options['dry-run'] };
    const { isDry } = how;
    const repository = await openForWriting(cli);
    const seenAt = await lastSeenAt(repository);
    let removed: Removed[];
    let kept: NotMerged[] = [];
    if (args.thread === undefined) {
      const threads = await findEndedBefore(repository, options.before?.(cli.now()) ?? 0);
      ({ removed, kept } = await removeAll(repository, threads, how));
    } else if (remote === undefined) {
      removed = [await removeHere(repository, args.thread, how)];
    } else {
      const name = remote === true ? undefined : remote;
      removed = [await removeEverywhere(cli, repository, name, args.thread, how)];
    }
    const [only] = removed;
    await out.result(args.thread !== undefined && only ? only : removed, () =>
      removed.map((each) => lineOf(each, isDry, out.paint)).join('\n'),
    );
    for (const { message } of kept) out.note(`uwf: ${message}`);
    if (kept.length > 0) out.hint(`${plural(kept.length, 'thread')} stayed; --force removes them, too`);
    else if (removed.length === 0) out.hint('no thread was over by then');
    const lost = removed.find(({ unmerged }) => unmerged !== null)?.unmerged;
    if (lost && !isDry) out.hint(`until git has collected it, 'git branch <name> ${lost.commit}' brings the work back`);
    if (kept.length > 0) return EXIT.failed;
    if (remote !== undefined || isDry) return EXIT.done;
    const shared = removed.find(({ thread }) => seenAt.has(thread)) ?? only;
    if (shared === undefined) return EXIT.done;
    const { thread } = shared;
    // What a remote has archived has no ref there.
    const where = seenAt.get(thread)?.[0] ?? (await findArchivePlace(repository, thread))?.remote;
    if (where === undefined) return EXIT.done;
    const at = oneLine(where);
    out.hint(`${at} still has it, and no fetch brings it back but 'uwf fetch ${at} ${thread}'`);
    return EXIT.done;
  },
});

function lineOf({ thread, head, unmerged, remote }: Removed, isDry: boolean, paint: Palette): string {
  const verb = isDry ? 'would remove' : 'removed';
  const there =
    remote === undefined ? '' : remote === null ? '; the remote did not have it' : ` at ${oneLine(remote)}, too`;
  if (head === null) return `${verb} thread ${paint.id(thread)} at ${oneLine(remote ?? '')}; it was not here`;
  const lost = unmerged === null ? '' : ` with work that is merged nowhere: ${amountOf(unmerged)}`;
  return `${verb} thread ${paint.id(thread)} (was ${head})${lost}${there}`;
}

/**
 * The ended threads under `refs/history/`. No process writes to them any more, so they need no lease. Their heads tell when
 * they ended, not a cache. Threads that cannot be read stay.
 */
async function findEndedBefore(repository: Repository, beforeMs: number): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  for (const pointer of await listPointers(repository, { history: true })) {
    const head = await readThreadCommit(repository, pointer.head).catch(() => undefined);
    if (head?.kind === 'end' && head.node.completedAtMs < beforeMs) found.push(pointer);
  }
  return found;
}

/** Removes threads that are over, but for those whose work is nowhere else. What only other threads of these have is not kept. */
async function removeAll(
  repository: Repository,
  threads: readonly ThreadPointer[],
  how: How,
): Promise<{ removed: Removed[]; kept: NotMerged[] }> {
  const removed: (Removed & { pointer: ThreadPointer })[] = [];
  const kept: NotMerged[] = [];
  const refs = new Set<string>(threads.map(({ ref }) => ref));
  for (const pointer of threads) {
    try {
      const unmerged = await findLost(repository, pointer, how, (ref) => refs.has(ref));
      removed.push({ thread: pointer.id, head: pointer.head, unmerged, pointer });
    } catch (error) {
      if (!(error instanceof NotMerged)) throw error;
      kept.push(error);
    }
  }
  for (let at = 0; at < removed.length && !how.isDry; at += BATCH) {
    await removeThreads(
      repository,
      removed.slice(at, at + BATCH).map(({ pointer }) => pointer),
    );
  }
  return { removed: removed.map(({ pointer: _pointer, ...each }) => each), kept };
}

/**
 * Finds the work that a removal, with the refs that are `isLeaving`, would lose; null if it would lose none, and with `force`
 * also if that cannot be told.
 */
async function findLost(
  repository: Repository,
  pointer: ThreadPointer,
  { env, force }: How,
  isLeaving: (ref: string) => boolean,
): Promise<UnmergedWork | null> {
  let unmerged: UnmergedWork | undefined;
  try {
    unmerged = await findUnmergedWork(repository, env, pointer, isLeaving);
  } catch (error) {
    if (force) return null;
    if (faultOf(error) === undefined) throw error;
    throw new NotMerged(pointer.id, `cannot be read, so whether it is merged is not known: ${messageOf(error)}`);
  }
  if (unmerged === undefined) return null;
  if (!force) throw new NotMerged(pointer.id, `is merged nowhere: ${amountOf(unmerged)}`);
  return unmerged;
}

/**
 * Removes a thread from a remote and from this repository. The remote comes first: if it refuses, nothing has changed here.
 * @param name the remote as it was typed; `undefined` for the one that git would push to
 * @param thread its id or a prefix; one that only the remote has is named by its whole id
 */
async function removeEverywhere(
  cli: CliEnvironment,
  repository: Repository,
  name: string | undefined,
  thread: string,
  how: How,
): Promise<Removed> {
  const remote = await openRemoteHere(cli, repository, { name, direction: 'push' });
  return withExchangeOptions(cli, async (exchange) => {
    const whole = thread.toUpperCase();
    if (isThreadId(whole) && (await findThread(repository, whole)) === undefined) {
      if (!how.isDry) await removeRemoteThread({ repository }, remote, whole, exchange);
      return { thread: whole, head: null, unmerged: null, remote: remote.url };
    }
    let url: string | null = remote.url;
    const before = async (id: ThreadId): Promise<void> => {
      const removing = removeRemoteThread({ repository }, remote, id, exchange);
      url = await removing.then(() => remote.url, inPlaceOf(ThreadNotThere, null));
    };
    const removed = await removeHere(repository, thread, { ...how, remote: remote.name, before });
    return { ...removed, remote: url };
  });
}

/**
 * Removes one thread from this repository.
 * @param before runs first, under the thread's lease; if it throws, nothing is removed
 * @param remote the remote that `before` removes it from
 */
async function removeHere(
  repository: Repository,
  idOrPrefix: string,
  { before, remote, ...how }: How & { before?: (thread: ThreadId) => Promise<void>; remote?: string },
): Promise<Removed> {
  const thread = await getThread(repository, idOrPrefix);
  const { id, head } = thread;
  const status = await readStatus(repository, thread);
  if (!isOver(status) && status !== 'running' && !how.force) {
    const end = status === 'corrupt' ? '' : `'uwf thread cancel ${id}' ends it; `;
    const hint = `${end}--force removes it as it is`;
    throw new WrongThreadState(id, status, 'it is not over', hint);
  }
  const isLeaving = (ref: string): boolean =>
    [thread.ref, activeRef(id), scratchRef(id)].some((own) => own === ref) ||
    (thread.isArchived === true && ref.startsWith(ARCHIVE_PREFIX)) ||
    (remote !== undefined && ref.startsWith(`${REMOTES_PREFIX}${remote}/`) && ref.endsWith(`/${id}`));
  const unmerged = await findLost(repository, thread, how, isLeaving);
  if (how.isDry) return { thread: id, head, unmerged };
  // Under the lease: otherwise a turn could begin whose step would have no thread.
  const lease = await takeLease(repository, id);
  try {
    await before?.(id);
    const pointer = await getThread(repository, id);
    await removeThread(repository, pointer);
    return { thread: id, head: pointer.head, unmerged };
  } finally {
    lease.release();
  }
}

/** Reads the head itself: a cache is not trusted to remove a thread. */
async function readStatus(repository: Repository, { id, head }: ThreadPointer): Promise<ThreadStatus> {
  try {
    const status = statusOfHead(await readThreadCommit(repository, head));
    return isOver(status) || findLease(repository, id) === undefined ? status : 'running';
  } catch (error) {
    if (error instanceof NewerFormat) return 'newer';
    // The hint is to remove it as it is, so what only this process cannot read is not called corrupt.
    if (faultOf(error) === undefined) throw error;
    return 'corrupt';
  }
}
