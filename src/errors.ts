/**
 * The kind of an error, for callers that handle all errors of a kind in one way.
 *
 * - `usage`: the caller asked for something that cannot be meant
 * - `data`: what is stored, or was handed in, is not what it has to be
 * - `conflict`: another process or writer was faster; trying again can help
 * - `agent`: an agent is missing, not authorised, or broke its contract
 * - `refused`: a remote does not take it, whatever it is told; trying again does not help
 * - `environment`: the machine refuses: disk full, read-only, a git that is not understood
 * - `timeout`: a time box ran out
 * - `interrupted`: a person or a signal said stop
 */
export type ErrorKind = 'usage' | 'data' | 'conflict' | 'agent' | 'refused' | 'environment' | 'timeout' | 'interrupted';

/** What every error of uwf can say beside its message. */
export type ErrorDetails = {
  /** Stable, kebab-case, for programs: `thread-moved`. */
  code: string;
  kind: ErrorKind;
  /** What to try next, as a sentence without its subject: `run 'uwf thread list'`. */
  hint?: string | undefined;
  cause?: unknown;
  /** What it is about, for programs: each becomes a field of the error. */
  facts?: Readonly<Record<string, unknown>>;
};

/**
 * The base of every error that uwf raises on purpose. Anything else that escapes is a bug.
 *
 * The message says what happened and to which thing. A subclass is for an error that code catches, and declares the facts that
 * code reads as readonly fields.
 */
export class UwfError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  /** How to go on once that is done: said by the caller that knows what the error has cut off. */
  wayOn: string | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.kind = details.kind;
    this.hint = details.hint;
    Object.assign(this, details.facts);
  }
}

/** The message of what was thrown, whatever that is: an agent may throw what cannot even be made a text. */
export function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return String(message);
  } catch {
    return 'an error without a message';
  }
}
