import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../git/names-in.ts';
import { isThreadId, type ThreadId } from '../thread/thread-id.ts';

/** A journal that has grown so large makes room for a new one; the one before that goes. */
export const MAX_JOURNAL_BYTES: number = 4 * 1024 * 1024;

/** What the journals of all threads may take together; the ones least lately written go first. */
export const MAX_JOURNALS_BYTES: number = 256 * 1024 * 1024;

/** How many files that may be. */
export const MAX_JOURNALS = 2_000;

/** The folder of all journals. */
export function journalFolder(stateDir: string): string {
  return join(stateDir, 'journal');
}

/** The file that is written to now, and the one that was before it grew too large. */
export function journalPaths(stateDir: string, thread: ThreadId): { current: string; older: string } {
  const path = join(journalFolder(stateDir), thread);
  return { current: `${path}.jsonl`, older: `${path}.1.jsonl` };
}

/** The threads that have a journal. */
export function listJournals(stateDir: string): ThreadId[] {
  return [...new Set(namesIn(journalFolder(stateDir)).map((name) => name.split('.')[0] ?? ''))].filter(isThreadId);
}

/**
 * Removes the journals that were not written for the longest time, until the others are few and small enough.
 * @param isInUse tells whether somebody works on a thread; its journal stays
 */
export function pruneJournals(stateDir: string, isInUse: (thread: ThreadId) => boolean): void {
  const folder = journalFolder(stateDir);
  const files = readdirSync(folder)
    .flatMap((name) => {
      const stat = statSync(join(folder, name), { throwIfNoEntry: false });
      return stat ? [{ name, bytes: stat.size, modifiedMs: stat.mtimeMs }] : [];
    })
    .toSorted((a, b) => b.modifiedMs - a.modifiedMs);
  let bytes = 0;
  for (const [place, file] of files.entries()) {
    bytes += file.bytes;
    if (place < MAX_JOURNALS && bytes <= MAX_JOURNALS_BYTES) continue;
    const thread = file.name.split('.')[0] ?? '';
    if (isThreadId(thread) && !isInUse(thread)) rmSync(join(folder, file.name), { force: true });
  }
}
