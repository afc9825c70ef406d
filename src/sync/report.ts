import type { ObjectId } from '../git/format/object-id.ts';
import type { CommitLine } from '../git/process/revisions.ts';
import type { GitEnvironment } from '../git/repository.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { SecretPlace } from '../thread/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ChooseNew, NewThread } from './new-threads.ts';

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
  isUnsound?: true;
  /** What to do, after which the same can be done again. */
  remedy?: string;
};

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

export type PushReport = {
  remote: string;
  url: string;
  threads: ThreadChange[];
  workflows: WorkflowChange[];
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

export type SyncReport = { fetched: FetchReport; pushed: PushReport };

export type SyncOptions = {
  /** Ids, or unique prefixes of ids, of the threads to exchange; default: all threads and workflows. */
  threads?: readonly string[] | undefined;
  /**
   * Chooses, in a push of all threads, among those that the remote has nothing of; the others stay here. It is asked once about
   * each, before anything of it is sent. Default: all are sent.
   */
  chooseNew?: ChooseNew | undefined;
  /** Fetches only threads that started at or after this time, in ms since 1970. */
  sinceMs?: number | undefined;
  /** Fetches only threads that ended on the UTC day of this time or later; ms since 1970. */
  endedSinceMs?: number | undefined;
  /** Fetches only threads that ended before this time, or on its UTC day; ms since 1970. */
  endedUntilMs?: number | undefined;
  /** Lets a push publish commits of the user's code that the remote does not have. Default: such threads are held. */
  withCommits?: boolean | undefined;
  /**
   * Lets the remote's tip keep a thread's id even where the thread has ended here and went on otherwise there: what a worker
   * did after it had lost its claim does not count. Default: a thread that has ended on one side has ended.
   */
  remoteWins?: boolean | undefined;
  /** Finds secrets in what a push would send. Default: secrets are not searched for. */
  redactor?: Redactor | undefined;
  /** Lets a push send secrets. Default: threads with secrets are held. */
  allowSecrets?: boolean | undefined;
  /** Reports what a push would do, and does nothing. */
  dryRun?: boolean | undefined;
  /** The environment of git processes. Default: a fetch does not pack refs. */
  env?: GitEnvironment | undefined;
  /**
   * Stops the exchange when aborted: the signal's reason is raised. Threads that were done stay done; no thread is left half
   * done.
   */
  signal?: AbortSignal | undefined;
  /** Gets git's progress messages, a line at a time. */
  onProgress?: ((line: string) => void) | undefined;
};

/** The most refs that are named for one reason. The others are counted. */
const MAX_NAMED = 5;
const MAX_LENGTH = 200;

/** Collects refusals by reason, so that the report stays short if a remote has 100,000 unknown refs. */
export class Refusals {
  readonly #byReason = new Map<string, Refusal[]>();

  /** @param ref the remote's name for it: any characters, any length */
  add(ref: string, reason: string): void {
    const known = this.#byReason.get(reason) ?? [];
    this.#byReason.set(reason, known);
    const last = known.at(-1);
    if (known.length < MAX_NAMED || last === undefined) known.push({ ref: printable(ref), reason: printable(reason) });
    else last.more = (last.more ?? 0) + 1;
  }

  list(): Refusal[] {
    return [...this.#byReason.values()].flat();
  }
}

/** Makes a text from a remote one line that is safe to print on a terminal. */
function printable(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_LENGTH));
  const cut = characters.length > MAX_LENGTH ? [...characters.slice(0, MAX_LENGTH - 1), '…'] : characters;
  return cut.join('').replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu, '\u{fffd}');
}
