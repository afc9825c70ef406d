import { createHash } from 'node:crypto';
import { encodeTime, monotonicFactory, type ULIDFactory } from 'ulid';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { CorruptThread } from './thread-errors.ts';
import { MAX_ID_TIME_MS, parseThreadId, timePrefix, type ThreadId } from './thread-id.ts';

/** A repository, or another clock. */
type Clock = Pick<Repository, 'now'>;
const factories = new WeakMap<Clock, ULIDFactory>();

/** Makes a new id. Within one process, later ids of a repository sort after earlier ones, even in the same millisecond. */
export function newThreadId(clock: Clock, nowMs: number = clock.now()): ThreadId {
  const factory = factories.get(clock) ?? monotonicFactory();
  factories.set(clock, factory);
  return parseThreadId(factory(nowMs));
}

/**
 * The id of the fork that keeps a commit which lost the race for its thread: the tip's committer time and the first
 * 80 bits of SHA-256(`uwf-fork` NUL thread id NUL tip id).
 *
 * It is the same on every machine, so keeping a commit twice keeps it once.
 */
export function forkIdFor(thread: ThreadId, tip: ObjectId, committedAtMs: number): ThreadId {
  return derivedId({ commit: tip, committedAtMs }, ['uwf-fork', thread, tip]);
}

/**
 * The id under which a thread's newest step is done again: the time of the step's commit and the first 80 bits of
 * SHA-256(`uwf-poke` NUL thread id NUL step's commit NUL ordinal). The children of such a turn are called under this id,
 * and a fork of this id keeps the turn if it waits for something.
 * @param ordinal how many forks of this step have an id of this kind already
 */
export function pokeIdFor(thread: ThreadId, step: CommittedState, ordinal: number): ThreadId {
  return derivedId(step, ['uwf-poke', thread, step.commit, String(ordinal)]);
}

/** A commit of a thread, and its committer time. */
export type CommittedState = { commit: ObjectId; committedAtMs: number };

/** Identifies one call of a child thread. */
export type CallPlace = {
  /** The id of the caller's ref, so that forks call their own children. */
  thread: ThreadId;
  /** The caller's last step, or its start. */
  state: CommittedState;
  role: string;
  key: string;
  ordinal: number;
  /** The block whose branch it is. */
  block?: string | undefined;
};

/**
 * The id of a child thread: the committer time of the caller's last step or start, and the first 80 bits of SHA-256(`uwf-call`
 * NUL caller's id NUL that commit NUL role NUL key NUL ordinal), for a branch with a NUL and the block at the end.
 *
 * A turn that is repeated after a crash or a suspension finds its children by their ids.
 */
export function callIdFor({ thread, state, role, key, ordinal, block }: CallPlace): ThreadId {
  const call = ['uwf-call', thread, state.commit, role, key, String(ordinal)];
  return derivedId(state, block === undefined ? call : [...call, block]);
}

/** @throws {CorruptThread} if the commit is later than an id can hold: its author chooses the date */
function derivedId({ commit, committedAtMs }: CommittedState, parts: readonly string[]): ThreadId {
  if (committedAtMs > MAX_ID_TIME_MS)
    throw new CorruptThread(commit, 'its date is later than the id of a thread can hold');
  const digest = createHash('sha256').update(parts.join('\0')).digest();
  // Forty bits at a time stay exact in a double, and are eight characters.
  const random = [digest.readUIntBE(0, 5), digest.readUIntBE(5, 5)].map((bits) => encodeTime(bits, 8)).join('');
  return parseThreadId(timePrefix(committedAtMs) + random);
}
