import type { ObjectId } from '../git/object-id.ts';
import type { Remote } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { threadTimeMs, type ThreadId } from '../thread/thread-id.ts';
import { readStanding, standingOf, type Standing } from './standing.ts';

/** A thread as the names of a remote's refs tell of it. */
export type RemoteThread = {
  thread: ThreadId;
  /** ISO 8601, UTC: the time in its id. */
  startedAt: string;
  /** The UTC day on which it ended; null if it goes on. */
  endedOn: string | null;
  head: ObjectId;
  /** Whether this repository has the thread: at the same commit, at another one, or not at all. */
  here: 'same' | 'other' | 'none';
};

/**
 * Lists the threads of a remote, newest first: one advertisement of refs, and no object.
 *
 * What it tells is what the remote says, and nothing of it has been checked but the form of the names.
 * @param which active threads, ended ones, or both
 */
export async function listRemoteThreads(
  repository: Pick<Repository, 'refs'>,
  remote: Remote,
  which: { active?: boolean; ended?: boolean },
  signal?: AbortSignal,
): Promise<RemoteThread[]> {
  // An ending that was cut in two has left the thread under both, so that the names of the ended ones are needed anyway.
  const refs = await remote.list([`${ACTIVE_PREFIX}*`, `${HISTORY_PREFIX}*`], signal);
  const here = await readStanding(repository);
  const threads: RemoteThread[] = [];
  for (const [thread, [tip]] of standingOf(refs).threads) {
    const isEnded = tip?.endedOn !== undefined;
    if (tip === undefined || !(isEnded ? which.ended : which.active)) continue;
    const startedAt = new Date(threadTimeMs(thread)).toISOString();
    threads.push({
      thread,
      startedAt,
      endedOn: tip.endedOn ?? null,
      head: tip.id,
      here: presence(here, thread, tip.id),
    });
  }
  return threads.toSorted((a, b) => (a.thread < b.thread ? 1 : -1));
}

function presence(here: Standing, thread: ThreadId, head: ObjectId): RemoteThread['here'] {
  const tip = here.threads.get(thread)?.[0];
  if (tip === undefined) return 'none';
  return tip.id === head ? 'same' : 'other';
}
