import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../../thread/find-thread.ts';
import type { LogEntry } from './log-entry.ts';
import { findLog, writeLog } from './remembered-log.ts';

/**
 * Tells a thread's story, newest first.
 *
 * What this machine remembers is not read again: only what came since is, and is remembered then.
 * @param most how many entries are wanted
 * @param isKept whether what is read is remembered
 */
export async function collectLog(
  repository: Repository,
  { id, head }: Pick<ThreadPointer, 'id' | 'head'>,
  most: number,
  { isKept }: { isKept: boolean },
): Promise<LogEntry[]> {
  const known = findLog(repository, id);
  const placeOf = (commit: ObjectId): number => known.entries.findIndex((entry) => entry.head === commit);
  const entries: LogEntry[] = [];
  const isEnough = (): boolean => entries.length >= most;

  let next: ObjectId | null = head;
  if (placeOf(head) === -1) {
    next = await readOn(repository, head, entries, (commit) => isEnough() || placeOf(commit) !== -1);
  }
  const countNewer = entries.length;
  if (next !== null && placeOf(next) !== -1) {
    entries.push(...known.entries.slice(placeOf(next)));
    next = known.next;
  }
  const countKnown = entries.length;
  if (next !== null && !isEnough()) next = await readOn(repository, next, entries, isEnough);
  if (isKept && (countNewer > 0 || entries.length > countKnown)) writeLog(repository, id, { entries, next });
  return entries.slice(0, most);
}

/** @returns the commit that it stopped before; null behind the start */
async function readOn(
  repository: Repository,
  from: ObjectId,
  entries: LogEntry[],
  isEnough: (next: ObjectId) => boolean,
): Promise<ObjectId | null> {
  const { readLog } = await import('./read-log.ts');
  for await (const { entry, commit } of readLog(repository, from)) {
    entries.push(entry);
    // A child's start stands on its caller's step, which is another story.
    if (commit.kind === 'start') return null;
    const next = commit.commit.parents[0];
    if (next !== undefined && isEnough(next)) return next;
  }
  return null;
}
