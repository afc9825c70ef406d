import type { NodeHash } from '../cas/hash.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { FORMAT } from '../schema/built-in/thread-start.ts';
import type { ThreadId } from './thread-id.ts';

/** No thread has this id or prefix. */
export class ThreadNotFound extends UwfError {
  /** @param place where an archived thread of this id is, if it is known */
  constructor(text: string, place?: { thread: ThreadId; remote: string }) {
    super(
      place === undefined ? `there is no thread '${text}'` : `thread ${place.thread} is archived at ${place.remote}`,
      {
        code: 'thread-not-found',
        kind: 'usage',
        hint:
          place === undefined
            ? "run 'uwf thread list --all' to see every thread"
            : `'uwf fetch ${place.remote} ${place.thread}' brings it here`,
        facts: { text },
      },
    );
  }
}

/** A prefix that several threads share. */
export function ambiguousThread(text: string, candidates: readonly ThreadId[]): UwfError {
  return new UwfError(`'${text}' could be any of ${candidates.length} threads: ${candidates.slice(0, 5).join(', ')}`, {
    code: 'ambiguous-thread',
    kind: 'usage',
    hint: 'give more characters',
    facts: { candidates },
  });
}

/** Another writer advanced the thread first. A fork keeps the commit that lost, if it cost something. */
export class ThreadMoved extends UwfError {
  readonly thread: ThreadId;
  /** The fork that keeps the loser's commit; `undefined` when nothing was worth keeping. */
  readonly fork: ThreadId | undefined;
  readonly head: ObjectId | undefined;
  constructor(thread: ThreadId, fork: ThreadId | undefined, head: ObjectId | undefined) {
    super(
      fork === undefined
        ? `thread ${thread} moved on while this was being written`
        : `thread ${thread} moved on while this turn ran; what came of it is kept as thread ${fork}`,
      {
        code: 'thread-moved',
        kind: 'conflict',
        hint: fork === undefined ? 'look at the thread again and repeat' : `run 'uwf thread show ${fork}' to see it`,
      },
    );
    this.thread = thread;
    this.fork = fork;
    this.head = head;
  }
}

/** A commit or node of a thread violates the format. */
export class CorruptThread extends UwfError {
  constructor(commit: ObjectId, what: string, cause?: unknown) {
    super(`commit ${commit} is not a sound part of a thread: ${what}`, {
      code: 'corrupt-thread',
      kind: 'data',
      hint: `look at it with 'git show --stat ${commit}' and check the repository with 'git fsck'`,
      cause,
      facts: { commit },
    });
  }
}

/** A thread was written before the format was set. Nothing of that time was released. */
export class BeforeFormat extends UwfError {
  constructor(commit: ObjectId) {
    super(
      `the thread of commit ${commit} was written by an early build, before format ${FORMAT}; this uwf reads format ${FORMAT} alone`,
      {
        code: 'before-format',
        kind: 'data',
        hint: "read it with the build that wrote it, or remove it with 'uwf thread rm --force <thread>'",
        facts: { commit },
      },
    );
  }
}

/** A node has a type that this version of uwf does not know. A newer version wrote it, or another program. */
export class NewerFormat extends UwfError {
  constructor(commit: ObjectId, path: string, type: NodeHash) {
    super(`${path} of commit ${commit} has the type ${type}, which this version of uwf does not know`, {
      code: 'newer-format',
      kind: 'data',
      hint: 'update uwf: a newer version wrote this thread, and it reads the threads of every earlier one',
      facts: { commit, type },
    });
  }
}

/** A reply links to a node that was deleted before the step was stored. */
export class LinkTakenBack extends UwfError {
  constructor(hash: NodeHash) {
    super(`the reply links to ${hash}, which was taken back before the step could take it in`, {
      code: 'link-taken-back',
      kind: 'conflict',
      hint: "put it again with 'uwf cas put', then resume the thread",
      facts: { hash },
    });
  }
}

/** A child thread without a ref of its own cannot be removed or pushed by itself: it is part of its caller. */
export class NoRefOfItsOwn extends UwfError {
  constructor(thread: ThreadId, keptBy: ThreadId) {
    super(`thread ${thread} has no ref here: it is part of thread ${keptBy}`, {
      code: 'no-ref-of-its-own',
      kind: 'usage',
      hint: `name ${keptBy}; what happens to that happens to all of it`,
    });
  }
}

/** The state of a thread does not allow an operation. */
export class WrongThreadState extends UwfError {
  constructor(thread: ThreadId, status: string, what: string, hint: string) {
    super(`thread ${thread} is ${status}: ${what}`, {
      code: 'wrong-thread-state',
      kind: 'usage',
      hint,
      facts: { thread, status },
    });
  }
}

/**
 * Returns the fault of the checked data that an error reports; `undefined` if the error is about something else: the
 * machine (a disk that cannot be read), or a request to stop.
 *
 * Damage is a fault. So is a value or a pattern whose check does not end. An unexpected error is a fault as well: the data
 * may be sound and uwf wrong, but the check of other threads can go on.
 */
export function faultOf(error: unknown): string | undefined {
  if (error instanceof UwfError) return error.kind === 'data' || error.kind === 'timeout' ? error.message : undefined;
  const isUnexpected = error instanceof Error && error.name !== 'AbortError' && !('syscall' in error);
  return isUnexpected ? `${UNEXPECTED}: ${error.name}: ${error.message}` : undefined;
}

/** As {@link faultOf}. Throws an error that is about something else again. */
export function asFault(error: unknown): string {
  const fault = faultOf(error);
  if (fault === undefined) throw error;
  return fault;
}

/** The beginning of the fault that an unexpected error becomes. */
export const UNEXPECTED = 'it cannot be checked';

/** Throws an error again unless it is about the data that was read. */
export function assertDataError(error: unknown): asserts error is UwfError {
  if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
}

/** For a promise's `catch`: returns `undefined` for damaged or missing data, and throws any other error again. */
export function nothingForDataError(error: unknown): undefined {
  assertDataError(error);
}
