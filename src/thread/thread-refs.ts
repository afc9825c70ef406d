import { parseRefName } from '../git/format/ref-name.ts';
import type { RefName } from '../git/ref-store.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { isThreadId, type ThreadId } from './thread-id.ts';

/** A thread's id, its ref, and the commit that the ref points at. */
export type ThreadPointer = {
  id: ThreadId;
  ref: RefName;
  head: ObjectId;
  isHistory: boolean;
  /** The thread whose ref this is, if the thread is an ended child without a ref of its own: its caller, or that one's. */
  keptBy?: ThreadId;
  /** True if the thread is archived: `ref` is the name that its history ref had, and does not exist. */
  isArchived?: true;
};

/** Where active threads live. */
export const ACTIVE_PREFIX = 'refs/threads/';
/** Where ended threads live, by the UTC date of their end. */
export const HISTORY_PREFIX = 'refs/history/';
/** Where tracking refs live, by the name of the remote. */
export const REMOTES_PREFIX = 'refs/uwf/remotes/';

/** Where the archive of this repository lives. */
export const ARCHIVE_PREFIX = 'refs/uwf/archive/';

/** The ref of an active thread. */
export function activeRef(id: ThreadId): RefName {
  return parseRefName(ACTIVE_PREFIX + id);
}

/** The ref of a thread that ended at this time. */
export function historyRef(id: ThreadId, completedAtMs: number): RefName {
  return parseRefName(`${HISTORY_PREFIX}${utcDate(completedAtMs)}/${id}`);
}

/** The ref that pins the artifacts of a thread until a step takes them in. */
export function scratchRef(id: ThreadId): RefName {
  return parseRefName(`refs/uwf/scratch/${id}`);
}

/** The ref that pins artifacts without a thread. */
export const PINS_REF: RefName = parseRefName('refs/uwf/pins');

/** The thread a ref belongs to, or `undefined` for a ref that is no thread's. */
export function threadOfRef(ref: RefName): { id: ThreadId; isHistory: boolean } | undefined {
  const isHistory = ref.startsWith(HISTORY_PREFIX);
  const rest = isHistory
    ? ref.slice(HISTORY_PREFIX.length).replace(/^\d{4}-\d{2}-\d{2}\//, '')
    : ref.startsWith(ACTIVE_PREFIX)
      ? ref.slice(ACTIVE_PREFIX.length)
      : '';
  return isThreadId(rest) ? { id: rest, isHistory } : undefined;
}

/** The UTC day in the name of an ended thread's ref: `2026-11-21`. */
export function dayOfEnd(ref: string): string {
  return ref.slice(HISTORY_PREFIX.length, HISTORY_PREFIX.length + '2026-11-21'.length);
}

/** Returns a test of UTC days: whether a thread that ended on the day may have ended between two times, in ms since 1970. */
export function endedBetween(sinceMs: number | undefined, untilMs: number | undefined): (day: string) => boolean {
  const first = sinceMs === undefined ? '' : utcDate(sinceMs);
  const last = untilMs === undefined ? '~' : utcDate(untilMs - 1);
  return (day) => day >= first && day <= last;
}

export const DAY_MS = 86_400_000;

/** The UTC day of a time: `2026-11-21`. */
export function utcDate(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
