import { setTimeout as sleep } from 'node:timers/promises';
import { RefChanges } from '../git/ref-changes.ts';
import type { Repository } from '../git/repository.ts';
import { ThreadNotFound } from '../thread/thread-errors.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { EngineContext } from './context.ts';
import { describeThread, listThreads, type ListOptions, type ThreadSummary } from './describe.ts';
import { findRunning } from './find-lease.ts';

const POLL_MS = 200;

/** A thread that is as it was not before, or that is there no more. */
export type ThreadChange = ThreadSummary | { thread: ThreadId; status: 'removed' };

/**
 * Gives the threads of a list, and then each of them again whenever it changes: new ones, those that got on, began to
 * run, stopped, ended. One that leaves the list is given a last time, as it is now. Ends when the signal is aborted.
 *
 * While nothing changes no ref is read: the times of a few folders are looked at, and the leases.
 */
export async function* followThreads(
  context: EngineContext,
  options: ListOptions,
  signal: AbortSignal,
): AsyncGenerator<ThreadChange, void, void> {
  const { repository } = context;
  const hasChanged = watch(repository);
  let known = new Map<ThreadId, string>();
  while (!signal.aborted) {
    if (hasChanged()) {
      const listed = new Map<ThreadId, string>();
      for (const summary of (await listThreads(context, options)).toReversed()) {
        const written = JSON.stringify(summary);
        listed.set(summary.thread, written);
        if (known.get(summary.thread) !== written) yield summary;
      }
      for (const thread of known.keys()) if (!listed.has(thread)) yield await lastWord(context, thread);
      known = listed;
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

function watch(repository: Repository): () => boolean {
  const { location } = repository;
  // Without a disk there is nothing to look at but the refs themselves.
  if (!location) return () => true;
  const refs = new RefChanges(location.commonDir, [ACTIVE_PREFIX, HISTORY_PREFIX]);
  let running = '';
  return () => {
    const before = running;
    running = findRunning(repository).join(' ');
    return refs.haveChanged() || running !== before;
  };
}

async function lastWord(context: EngineContext, thread: ThreadId): Promise<ThreadChange> {
  try {
    const view = await describeThread(context, thread);
    const { status, workflow, startedAt, head, endedAt, prompt, steps, nextRole, interruption, reason, cause } = view;
    return { thread, status, workflow, startedAt, head, endedAt, prompt, steps, nextRole, interruption, reason, cause };
  } catch (error) {
    if (error instanceof ThreadNotFound) return { thread, status: 'removed' };
    throw error;
  }
}
