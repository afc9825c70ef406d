import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { nothingForDataError } from '../fault-of.ts';
import { listPointers } from '../find/find-thread.ts';
import { dayOfEnd, utcDate, type ThreadPointer } from '../thread-refs.ts';

/**
 * Finds the threads with history refs that ended before a time. One whose end cannot be read is left out: git could not collect
 * garbage if the archive led to it.
 * @param onProgress receives the number of threads checked so far
 */
export async function findArchivable(
  repository: Repository,
  beforeMs: number,
  onProgress?: (line: string) => void,
): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  const lastDay = utcDate(Math.max(0, beforeMs - 1));
  const ended = (await listPointers(repository, { history: true })).filter(({ ref }) => dayOfEnd(ref) <= lastDay);
  for (const [at, pointer] of ended.entries()) {
    const end = await readCommit(repository.objects, pointer.head).catch(nothingForDataError);
    if (end !== undefined && end.committer.atMs < beforeMs) found.push(pointer);
    if (at % 5_000 === 4_999) onProgress?.(`looked at ${at + 1} of ${ended.length} ended threads`);
  }
  return found;
}
