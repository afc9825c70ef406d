import type { CommitLine } from '../git/process/list-commits.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { SecretPlace } from '../thread/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { NewThread } from './push/new-threads.ts';

/** How a fetch or a push changed one thread: at the receiving side. */
export type ThreadChange = {
  thread: ThreadId;
  /**
   * `new`: the thread was created. `forward`: it has more commits. `ended`: it has ended. `removed`: it was deleted.
   * `forked`: this is the fork that keeps a diverged tip of the thread `of`.
   */
  change: 'new' | 'forward' | 'ended' | 'removed' | 'forked';
  /** Its head after the change; `null` if it was removed. */
  head: ObjectId | null;
  /** Its head before the change; `null` if it did not exist. */
  before: ObjectId | null;
  /** How many commits are new, or `undefined` where counting would cost more than the change. */
  commits?: number;
  /** The thread that this one is a fork of, for `forked`. */
  of?: ThreadId;
};

/** How a fetch or a push changed a workflow's registry. */
export type WorkflowChange = {
  workflow: string;
  change: 'new' | 'forward' | 'joined';
  head: ObjectId;
  before: ObjectId | null;
};

/** A ref that was not changed, and why. */
export type Refusal = {
  /** The name of the ref, made printable. */
  ref: string;
  reason: string;
  /** How many more refs were refused for the same reason and are not listed. */
  more?: number;
  /** Places of the secrets that a push would publish. */
  secrets?: SecretPlace[];
  /** True if uwf does not send it, because it is unsound or no ref of uwf. */
  isUnsound?: true;
  /** True if the remote refused it: a hook, a namespace, a permission. */
  isRefusedThere?: true;
};

/** A thread that was not changed, because a person has to decide. */
export type Held = {
  thread: ThreadId;
  reason: string;
  /** Commits of the user's code that a push of the thread would publish, the newest first. */
  commits?: CommitLine[];
  /** Places of the secrets that a push of the thread would publish. */
  secrets?: SecretPlace[];
  /** True if the thread is not sound. */
  isUnsound?: true;
  /** What to do, after which the same can be done again. */
  remedy?: string;
};

/** The result of a fetch. */
export type FetchReport = {
  remote: string;
  url: string;
  threads: ThreadChange[];
  workflows: WorkflowChange[];
  /** Refs that failed a check; no object of theirs is in the repository. */
  refused: Refusal[];
  held: Held[];
  /** Ended threads that the remote has archived, and that were archived here too. */
  archived?: ThreadId[];
  /** Threads that the remote had, and of which nothing there says what became of them. They stay here. */
  gone?: ThreadId[];
};

/** The result of a push. */
export type PushReport = {
  remote: string;
  url: string;
  threads: ThreadChange[];
  workflows: WorkflowChange[];
  /** Refs that were not pushed. */
  rejected: Refusal[];
  held: Held[];
  /** Ended threads that were moved into the remote's archive. */
  archived?: ThreadId[];
  /** Threads that the remote has nothing of, that nobody named, and that `chooseNew` did not choose: they stay here. */
  unsent?: NewThread[];
  /** Threads that were not named but whose commits were sent too: callers of a pushed child, children of a pushed caller. */
  alongside: ThreadId[];
  /** Commits of the user's code that the push published, the newest first. */
  commits: CommitLine[];
  /** Places of secrets that the push published, because the user allowed it. */
  secrets: SecretPlace[];
};

/** The result of a fetch and a push. */
export type SyncReport = { fetched: FetchReport; pushed: PushReport };
