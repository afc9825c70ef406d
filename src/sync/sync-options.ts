import type { Redactor } from '../redaction/redactor.ts';
import type { GitEnvironment } from '../git/repository.ts';
import type { ChooseNew } from './push/new-threads.ts';

/** Options of a fetch, a push, or both. */
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
