import type { GitEnvironment } from '../git/git-directory.ts';
import type { Redactor } from '../redaction/redactor.ts';

/** What is asked of a fetch, a push, or both. */
export type SyncOptions = {
  /** Whole ids, or prefixes that only one thread has: these and nothing else; default: everything. */
  threads?: readonly string[];
  /** Fetches no thread that was started before; ms since 1970. */
  sinceMs?: number;
  /** Fetches threads alone that ended since that moment, or earlier on the same UTC day; ms since 1970. */
  endedSinceMs?: number;
  /** Fetches threads alone that ended before that moment, or on the same UTC day; ms since 1970. */
  endedUntilMs?: number;
  /** Brings commits and trees alone; contents come when they are first read. */
  spine?: boolean;
  /** Lets a push publish commits of the user's code that the remote does not have; default: such threads are held. */
  withCommits?: boolean;
  /** Knows secrets: a push looks for them in what it would send. Default: it does not look. */
  redactor?: Redactor;
  /** Lets a push send secrets; default: threads that have some are held. */
  allowSecrets?: boolean;
  /** Says what a push would do, and does not do it. */
  dryRun?: boolean;
  /** What git inherits where it is needed after a fetch; default: it is not used then. */
  env?: GitEnvironment;
  /** Ends it when aborted; what was done stays, and nothing is left half done. */
  signal?: AbortSignal;
  /** Told what git tells a person at a terminal, a line at a time. */
  onProgress?: (line: string) => void;
};
