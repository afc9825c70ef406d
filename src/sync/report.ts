import type { CommitLine } from '../git/native/list-commits.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { SecretPlace } from '../thread/secrets/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';

/** What a fetch or a push changed about one thread, on the side that it changed. */
export type ThreadChange = {
  thread: ThreadId;
  /**
   * `new`: it was not there. `forward`: it has more commits. `ended`: it is over now. `removed`: it is gone.
   * `redacted`: it was written anew without secrets. `forked`: this is the fork that keeps what `of` could not take in.
   */
  change: 'new' | 'forward' | 'ended' | 'removed' | 'forked' | 'redacted';
  /** Where it is now; `null` if it was removed. */
  head: ObjectId | null;
  /** Where it was; `null` if it was not there. */
  before: ObjectId | null;
  /** How many commits are new, or `undefined` where counting would cost more than the change. */
  commits?: number;
  /** The thread that this one is a fork of, for `forked`. */
  of?: ThreadId;
};

/** The same about a workflow's registry. */
export type WorkflowChange = {
  workflow: string;
  change: 'new' | 'forward' | 'joined';
  head: ObjectId;
  before: ObjectId | null;
};

/** What was left where it was, and why. */
export type Refusal = {
  /** The remote's name for it, made printable. */
  ref: string;
  reason: string;
  /** How many more refs were refused for the same reason and are not listed. */
  more?: number;
  /** Places of the secrets that pushing it would publish. */
  secrets?: SecretPlace[];
  /** True if it is none of uwf's, or not sound: it was not sent. */
  isUnsound?: true;
  /** True if the remote does not take it, for reasons of its own: a hook, a namespace, a right. */
  isRefusedThere?: true;
};

/** A thread that is as it was because a person has to decide. */
export type Held = {
  thread: ThreadId;
  reason: string;
  /** Commits of the user's code that pushing the thread would publish, the newest first. */
  commits?: CommitLine[];
  /** Places of the secrets that pushing the thread would publish. */
  secrets?: SecretPlace[];
  /** True if it is no sound thread. */
  isUnsound?: true;
};

/** What came of a fetch. */
export type FetchReport = {
  remote: string;
  url: string;
  threads: ThreadChange[];
  workflows: WorkflowChange[];
  /** What failed a check; nothing of it is in the repository. */
  refused: Refusal[];
  held: Held[];
  /** True if contents were to be left out, and the remote sent them all the same. */
  isWhole?: true;
};

/** What came of a push. */
export type PushReport = {
  remote: string;
  url: string;
  threads: ThreadChange[];
  workflows: WorkflowChange[];
  /** What the remote did not take. */
  rejected: Refusal[];
  held: Held[];
  /** Threads that were not named but whose commits went along: callers of a pushed child, children of a pushed caller. */
  alongside: ThreadId[];
  /** Commits of the user's code that the remote did not have and that went along, the newest first. */
  commits: CommitLine[];
  /** Places of secrets that went along, as was asked for. */
  secrets: SecretPlace[];
};

/** What came of both. */
export type SyncReport = { fetched: FetchReport; pushed: PushReport };
