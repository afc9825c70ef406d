import { UwfError, type ErrorKind } from '../errors.ts';

/** What the exit codes of uwf mean. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  /** The run ended as failed. */
  runFailed: 3,
  /** The run is suspended and waits for a person. */
  suspended: 4,
  /** Somebody else was faster, or works on the thread. */
  conflict: 5,
  /** An agent is missing, not authorised, or not trusted. */
  agent: 6,
  /** A remote does not take it: a hook, a namespace, a right that is missing. */
  refusedThere: 7,
  /** A mistake in uwf itself (`EX_SOFTWARE` of sysexits.h). */
  bug: 70,
  /** As timeout(1) has it. */
  timedOut: 124,
  /** As a shell has it for a process that SIGINT ended. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const byKind: Record<ErrorKind, ExitCode> = {
  usage: EXIT.usage,
  data: EXIT.failed,
  conflict: EXIT.conflict,
  agent: EXIT.agent,
  refused: EXIT.refusedThere,
  environment: EXIT.failed,
  timeout: EXIT.timedOut,
  interrupted: EXIT.interrupted,
};

/** The exit code of an error; one that is none of uwf's own is a bug. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof UwfError ? byKind[error.kind] : EXIT.bug;
}

/** The exit code of a run, by its last event. */
export function exitCodeOfRun(over: { event: string }): ExitCode {
  switch (over.event) {
    case 'thread.suspended':
      return EXIT.suspended;
    case 'thread.failed':
      return EXIT.runFailed;
    case 'thread.cancelled':
      return EXIT.interrupted;
    default:
      return EXIT.done;
  }
}

/** What a push, a fetch or both left where it was. */
export type Left = {
  /** It failed a check. */
  refused: readonly object[];
  /** The remote does not take it. */
  refusedThere?: readonly object[];
  /** It waits for a person, or for what others have pushed. */
  undecided: readonly object[];
};

/** The exit code of a push, a fetch or both, by what weighs most: trying again helps only with what is undecided. */
export function exitCodeOfSharing({ refused, refusedThere = [], undecided }: Left): ExitCode {
  if (refused.length > 0) return EXIT.failed;
  if (refusedThere.length > 0) return EXIT.refusedThere;
  return undecided.length > 0 ? EXIT.conflict : EXIT.done;
}
