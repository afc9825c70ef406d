import { type ErrorKind, UwfError } from '../../errors.ts';
import { nearestName } from '../../text/nearest-name.ts';

/** What the exit codes of uwf mean. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  runFailed: 3,
  /** The run is suspended and waits for a person. */
  suspended: 4,
  /** Conflict: another process runs the thread, or has advanced it. */
  conflict: 5,
  /** An agent is missing, not authorised, or not trusted. */
  agent: 6,
  /** A remote refuses it: by a hook, a namespace or a missing right. */
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

/** The exit code of an error. Any error but a `UwfError` is a bug. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof UwfError ? byKind[error.kind] : EXIT.bug;
}

const byEvent: ReadonlyMap<string, ExitCode> = new Map([
  ['thread.suspended', EXIT.suspended],
  ['thread.failed', EXIT.runFailed],
  ['thread.cancelled', EXIT.interrupted],
]);

export function exitCodeOfRun(over: { event: string }): ExitCode {
  return byEvent.get(over.event) ?? EXIT.done;
}

/** What a push, a fetch or both left where it was. */
export type Left = {
  /** It failed a check. */
  refused: readonly object[];
  /** The remote does not take it. */
  refusedThere?: readonly object[];
  /** A person has to decide, or to fetch before the next push. */
  undecided: readonly object[];
};

/** The exit code of a push, a fetch or both. The worst result decides: a retry helps only with what is undecided. */
export function exitCodeOfSharing(...reports: readonly Left[]): ExitCode {
  const isAny = (what: keyof Left): boolean => reports.some((left) => (left[what] ?? []).length > 0);
  if (isAny('refused')) return EXIT.failed;
  if (isAny('refusedThere')) return EXIT.refusedThere;
  return isAny('undecided') ? EXIT.conflict : EXIT.done;
}

/** A mistake in the command line. */
export class UsageError extends UwfError {
  constructor(message: string, hint?: string) {
    super(message, { code: 'usage', kind: 'usage', hint });
  }
}

/** The hint for an unknown name: the nearest known one, as one would `write` it, or `otherwise`, by default a list of them. */
export function hintAtName(
  name: string,
  known: readonly string[],
  otherwise = `there is ${known.join(', ')}`,
  write = (near: string): string => `'${near}'`,
): string {
  const near = nearestName(name, known);
  return near === undefined ? otherwise : `did you mean ${write(near)}?`;
}
