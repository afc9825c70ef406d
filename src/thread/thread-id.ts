import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { RefName } from '../git/repository.ts';

/**
 * The name of a thread: a ULID, 26 characters of Crockford's Base32 in upper case. The first ten are the time at which it
 * was made. Made only by this file and `new-thread-id.ts`.
 *
 * Source: the ULID specification (48-bit time in ms, 80 random bits).
 */
export type ThreadId = string & { readonly __brand: 'ThreadId' };

const pattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function isThreadId(text: string): text is ThreadId {
  return pattern.test(text);
}

/** @throws {UwfError} `invalid-thread-id` if `text`, its case aside, has not the form of a thread id */
export function parseThreadId(text: string): ThreadId {
  const upper = text.toUpperCase();
  if (isThreadId(upper)) return upper;
  throw new UwfError(`'${text}' is not a thread id`, {
    code: 'invalid-thread-id',
    kind: 'usage',
    hint: "a thread id has 26 characters, such as 01KTWEWZ760000000000000000; 'uwf thread list' shows them",
    facts: { text },
  });
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The latest time that a thread id can hold, in ms since 1970: 48 bits, in the year 10889. */
export const MAX_ID_TIME_MS: number = 2 ** 48 - 1;

/** The time a thread id was made at, in ms since 1970. */
export function threadTimeMs(id: ThreadId): number {
  let timeMs = 0;
  for (let at = 0; at < 10; at++) timeMs = timeMs * 32 + alphabet.indexOf(id.charAt(at));
  return timeMs;
}

/** The part of a thread's id that is the time, as it is in the id of every child called from a commit of that time. */
export function timePrefix(timeMs: number): string {
  let text = '';
  for (let rest = timeMs; text.length < 10; rest = Math.floor(rest / 32)) text = alphabet.charAt(rest % 32) + text;
  return text;
}

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
