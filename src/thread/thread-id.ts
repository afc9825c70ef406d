import { createHash } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory, type ULIDFactory } from 'ulid';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';

/**
 * The name of a thread: a ULID, 26 characters of Crockford's Base32 in upper case, whose first ten
 * tell the time it was made at. Made only by this file.
 *
 * Source: the ULID specification (48-bit time in ms, 80 random bits).
 */
export type ThreadId = string & { readonly __brand: 'ThreadId' };

/** Raised for a text that cannot be a thread id. */
export class InvalidThreadId extends UwfError {
  readonly text: string;
  constructor(text: string) {
    super(`'${text}' is not a thread id`, {
      code: 'invalid-thread-id',
      kind: 'usage',
      hint: "a thread id has 26 characters, such as 01KTWEWZ760000000000000000; 'uwf thread list' shows them",
    });
    this.text = text;
  }
}

const pattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Tells whether a text has the form of a whole thread id. */
export function isThreadId(text: string): text is ThreadId {
  return pattern.test(text);
}

/** @throws {InvalidThreadId} if `text`, its case aside, has not the form of a thread id */
export function parseThreadId(text: string): ThreadId {
  const upper = text.toUpperCase();
  if (!isThreadId(upper)) throw new InvalidThreadId(text);
  return upper;
}

let factory: ULIDFactory | undefined;

/** Makes a new id; within one process later ids sort after earlier ones, even in the same millisecond. */
export function newThreadId(nowMs: number): ThreadId {
  factory ??= monotonicFactory();
  return parseThreadId(factory(nowMs));
}

/** The time a thread id was made at, in ms since 1970. */
export function threadTimeMs(id: ThreadId): number {
  return decodeTime(id);
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * The id of the fork that keeps what a thread could not take in: the tip's committer time and the first
 * 80 bits of SHA-256(`uwf-fork` NUL thread id NUL tip id).
 *
 * Machines that meet the same loser name it alike, so that keeping it twice keeps it once.
 */
export function forkIdFor(thread: ThreadId, tip: ObjectId, committedAtMs: number): ThreadId {
  const digest = createHash('sha256').update(`uwf-fork\0${thread}\0${tip}`).digest();
  // Forty bits at a time stay exact in a double, and are eight characters.
  const random = [digest.readUIntBE(0, 5), digest.readUIntBE(5, 5)].map(encodeFortyBits).join('');
  return parseThreadId(encodeTime(committedAtMs, 10) + random);
}

function encodeFortyBits(bits: number): string {
  let text = '';
  for (let rest = bits; text.length < 8; rest = Math.floor(rest / 32)) {
    text = alphabet.charAt(rest % 32) + text;
  }
  return text;
}
