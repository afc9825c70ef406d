import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Remote } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, type ThreadId, threadTimeMs } from '../../thread/thread-id.ts';
import { readSortedRefs, sortRefs, type SortedRefs } from './sorted-refs.ts';

/** A remote has no thread of this id or prefix. */
export class ThreadNotThere extends UwfError {
  constructor(text: string, remote: string) {
    super(`${remote} has no thread '${text}'`, {
      code: 'thread-not-there',
      kind: 'usage',
      hint: `run 'uwf thread list --remote=${remote}' to see what it has`,
      facts: { text, remote },
    });
  }
}

/** A thread of a remote, as the names of its refs describe it. */
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
 * Lists the threads of a remote, newest first. Reads its refs and no object, so only the form of the names is checked.
 *
 * @param which active threads, ended ones, or both
 */
export async function listRemoteThreads(
  repository: Pick<Repository, 'refs'>,
  remote: Remote,
  which: { active?: boolean; ended?: boolean },
  signal?: AbortSignal,
): Promise<RemoteThread[]> {
  // An interrupted ending leaves two refs, so an active thread is known only from the ended ones, too.
  const refs = await remote.list([`${ACTIVE_PREFIX}*`, `${HISTORY_PREFIX}*`], signal);
  const here = await readSortedRefs(repository);
  const threads: RemoteThread[] = [];
  for (const [thread, [tip]] of sortRefs(refs).threads) {
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

function presence(here: SortedRefs, thread: ThreadId, head: ObjectId): RemoteThread['here'] {
  const tip = here.threads.get(thread)?.[0];
  if (tip === undefined) return 'none';
  return tip.id === head ? 'same' : 'other';
}
