import { UwfError } from '../errors.ts';

/**
 * The name of a thread: a ULID, 26 characters of Crockford's Base32 in upper case. The first ten are the time at which it
 * was made. Made only by this file and `new-thread-id.ts`.
 *
 * Source: the ULID specification (48-bit time in ms, 80 random bits).
 */
export type ThreadId = string & { readonly __brand: 'ThreadId' };

const pattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Tells whether a text has the form of a whole thread id. */
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
