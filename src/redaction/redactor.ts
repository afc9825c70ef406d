import { createHmac } from 'node:crypto';

import { UwfError } from '../errors.ts';
import type { JsonValue } from '../json.ts';

/** A secret in a text: the rule that knows it, and its place in UTF-16 code units. */
export type Hit = { rule: string; start: number; end: number };

/** A text without its secrets; `hits` are places in the text that was given, in order. */
export type RedactedText = { text: string; hits: readonly Hit[] };

/** A value without its secrets: strings and the keys of objects. */
export type RedactedValue = { value: JsonValue; hits: number };

/** Redacts a text that comes in pieces, however it is cut. */
export interface RedactingStream {
  /** Takes a piece, and returns all text that is settled: everything before a match that may still be open. */
  write(piece: string): string;
  /** Gives what was held back. */
  end(): string;
  /** How many secrets were taken out so far. */
  readonly hits: number;
}

/**
 * Takes secrets out of what is about to be written or shown. Redacting twice changes nothing more.
 *
 * All of it fails closed: what cannot be finished throws `RedactionFailed`, and nothing of the text is given.
 */
export interface Redactor {
  /** The version of the table of rules, which is recorded with what was taken out. */
  readonly table: string;
  /** @param path where the text is from, for what is allowed by path */
  redactText(text: string, path?: string): RedactedText;
  /** @param keep texts that are not changed: those that a schema itself names (`enum`, `const`, property names) */
  redactValue(value: JsonValue, keep?: ReadonlySet<string>): RedactedValue;
  openStream(): RedactingStream;
}

/** A rule of a person's own: a name as rules have it (`acme-token`), and the source of a regular expression. */
export type OwnRule = { name: string; pattern: string };

/** An exception: what a rule finds in the files of a glob (`test/**`), or one value by its `allowHashOf`. */
export type Allowed = { rule: string; path: string } | { hash: string };

export type RedactorOptions = {
  /** The key of this machine: equal secrets have equal marks here, and none can be guessed elsewhere. Read with the first mark. */
  key: Uint8Array;
  /** Values that are known to be secret; values that are not `isRedactable` are ignored. */
  known: readonly string[];
  rules?: readonly OwnRule[];
  allow?: readonly Allowed[];
};

/** The mark that a secret leaves: `‹redacted:<rule>:<8 hex digits of an HMAC-SHA-256>›`. */
export function markOf(rule: string, secret: string, key: Uint8Array): string {
  const digest = createHmac('sha256', key).update(secret).digest('hex').slice(0, 8);
  return `‹redacted:${rule}:${digest}›`;
}

/** What {@link markOf} makes, and the rule in it. What is in a mark is no secret any more. */
export const marks: RegExp = /‹redacted:([a-z0-9-]{1,40}):[0-9a-f]{8}›/g;

/** A text could not be searched for secrets to its end, so none of it may be written or shown. */
export class RedactionFailed extends UwfError {
  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { code: 'redaction-failed', kind: 'timeout', hint, cause });
  }
}
