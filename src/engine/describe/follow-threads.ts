import { setTimeout as sleep } from 'node:timers/promises';
import { assertThere } from '../../git/repository/git-directory.ts';
import { watchRefs } from '../../git/stores/disk/read-refs.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import { ThreadNotFound } from '../../thread/thread-errors.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, type ThreadId } from '../../thread/thread-id.ts';
import type { Reading } from '../engine-context.ts';
import { type KnownThreads, listThreads, type ListOptions, summaryOf } from './list-threads.ts';
import type { ThreadSummary } from './read-listed.ts';
import { findRunning } from '../leases/find-lease.ts';
import { inPlaceOf } from '../../or-else.ts';

const POLL_MS = 200;

/** A thread that is as it was not before, or that is there no more. */
export type ListChange = ThreadSummary | { thread: ThreadId; status: 'removed' };

/**
 * Gives the threads of a list, and then each of them again whenever it changes: new ones, those that got on, began to
 * run, stopped, ended. A thread that leaves the list is given a last time, as it is now. Ends when the signal is aborted.
 *
 * While nothing changes no ref is read: the times of a few folders are looked at, and the leases.
 * @throws {UwfError} `repository-not-found` if the repository is removed meanwhile
 */
export async function* followThreads(
  engine: Reading,
  options: ListOptions,
  signal: AbortSignal,
): AsyncGenerator<ListChange, void, void> {
  const { repository } = engine;
  const hasChanged = watch(repository);
  const read: KnownThreads = new Map();
  let known = new Map<ThreadId, string>();
  while (!signal.aborted) {
    if (hasChanged()) {
      assertThere(repository);
      const listed = new Map<ThreadId, string>();
      for (const summary of (await listThreads(engine, options, read)).toReversed()) {
        const written = JSON.stringify(summary);
        listed.set(summary.thread, written);
        if (known.get(summary.thread) !== written) yield summary;
      }
      for (const thread of known.keys()) if (!listed.has(thread)) yield await lastWord(engine, thread);
      known = listed;
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

function watch(repository: Repository): () => boolean {
  const { location } = repository;
  // Without a disk there is nothing to look at but the refs themselves.
  if (!location) return () => true;
  const haveChanged = watchRefs(location.commonDir, [ACTIVE_PREFIX, HISTORY_PREFIX]);
  let running = '';
  return () => {
    const before = running;
    running = findRunning(repository).join(' ');
    return haveChanged() || running !== before;
  };
}

async function lastWord(engine: Reading, thread: ThreadId): Promise<ListChange> {
  const pointer = await getThread(engine.repository, thread).catch(inPlaceOf(ThreadNotFound, undefined));
  if (pointer === undefined) return { thread, status: 'removed' };
  return summaryOf(engine, pointer);
}
