import type { Repository } from '../../git/repository.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readState, stateCommit } from '../../thread/thread-state.ts';
import {
  ACTIVE_PREFIX,
  activeRef,
  DAY_MS,
  HISTORY_PREFIX,
  type ThreadId,
  timePrefix,
  utcDate,
} from '../../thread/thread-id.ts';
import { removedRef } from '../../thread/remove-thread.ts';

/** A thread may have ended on another day than it would here, by the clock of the machine that ended it. */
const DAYS_AROUND = 4;
/** A longer time is one pattern for all days. */
const MAX_DAYS = 100;

/** The names of refs that a thread which was active a moment ago can have, and of the mark that it was removed. */
export function placesNow(thread: ThreadId, nowMs: number): string[] {
  return [activeRef(thread), removedRef(thread), ...patternsAround(nowMs, nowMs, thread)];
}

/** Patterns of the refs of the children that a thread called since its last step: their ids begin with its time. */
export async function placesOfChildren(repository: Repository, thread: ThreadId, head: ObjectId): Promise<string[]> {
  const { atMs } = stateCommit(await readState(repository, thread, head)).commit.committer;
  const prefix = timePrefix(atMs);
  return [`${ACTIVE_PREFIX}${prefix}*`, ...patternsAround(atMs, repository.now(), `${prefix}*`)];
}

function patternsAround(sinceMs: number, untilMs: number, name: string): string[] {
  return patternsOfDays(sinceMs - DAYS_AROUND * DAY_MS, untilMs + DAYS_AROUND * DAY_MS, name);
}

/**
 * Patterns for the refs of threads that ended in a time.
 * @param name the last part of their names
 */
export function patternsOfDays(sinceMs: number, untilMs: number, name: string): string[] {
  if (untilMs - sinceMs > MAX_DAYS * DAY_MS) return [`${HISTORY_PREFIX}*`];
  const patterns: string[] = [];
  for (let dayMs = Math.floor(sinceMs / DAY_MS) * DAY_MS; dayMs < untilMs; dayMs += DAY_MS) {
    patterns.push(`${HISTORY_PREFIX}${utcDate(dayMs)}/${name}`);
  }
  return patterns;
}
