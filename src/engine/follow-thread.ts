import { setTimeout as sleep } from 'node:timers/promises';
import type { Repository } from '../git/repository.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { findLease } from './find-lease.ts';
import type { JournalEntry } from './journal.ts';
import { openJournal } from './read-journal.ts';

const POLL_MS = 100;

/**
 * Gives what happens on a thread as it happens, whichever process works on it: first all that its journal holds, as one
 * list, then what comes, and ends when nobody works on the thread any more.
 */
export async function* followThread(
  repository: Repository,
  thread: ThreadId,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry[], void, void> {
  const reader = openJournal(repository, thread);
  try {
    for (let isFirst = true; ; isFirst = false) {
      // Asked before reading: what a holder writes before it goes is then read for certain.
      const isOver = findLease(repository, thread) === undefined;
      const entries = reader.next();
      if (isFirst || entries.length > 0) yield entries;
      if (isOver || signal.aborted) return;
      await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    reader.close();
  }
}
