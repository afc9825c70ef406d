import { createHash } from 'node:crypto';
import { encodeTime, monotonicFactory, type ULIDFactory } from 'ulid';
import type { ObjectId } from '../git/object-id.ts';
import { parseThreadId, type ThreadId } from './thread-id.ts';

let factory: ULIDFactory | undefined;

/** Makes a new id; within one process later ids sort after earlier ones, even in the same millisecond. */
export function newThreadId(nowMs: number): ThreadId {
  factory ??= monotonicFactory();
  return parseThreadId(factory(nowMs));
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
