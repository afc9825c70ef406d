// The room redaction: texts and values come in before they are stored, shown or sent, and go out with a mark in place
// of each secret. `create-redactor.ts` makes a redactor of what is known to be secret on this machine, of what users
// allow, and of `rules`, which say what the tokens of providers look like; `finder.ts` searches. Nothing outside of
// the text is read. What may go wrong is a miss or a false alarm: rules know forms, not meanings.

import { createHmac } from 'node:crypto';
import { UwfError } from '../errors.ts';
import type { JsonValue } from '../json.ts';

/** A secret in a text: the rule that knows it, and its place in UTF-16 code units. */
export type Hit = { rule: string; start: number; end: number };

/** A text without its secrets; `hits` are places in the text that was given, in order. */
export type RedactedText = { text: string; hits: readonly Hit[] };

/** A value without its secrets: strings and the keys of objects. */
type RedactedValue = { value: JsonValue; hits: number };

/** Redacts a text that comes in pieces, however it is cut. */
export interface RedactingStream {
  /** Takes a piece, and returns all text that is settled: everything before a match that may still be open. */
  write(piece: string): string;
  /** Gives what was held back. */
  end(): string;
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

/** What a rule matched, before overlaps are resolved. */
export type SecretMatch = {
  rule: string;
  start: number;
  end: number;
  /** Where what the rule looks at begins: the name before a value. */
  from?: number;
  /** What the mark is made of, where it is not the text itself: a known value in any of its encodings. */
  secret?: string;
  /** 0: a known value, 1: a provider's token, 2: a form with credentials, 3: randomness beside a name. */
  layer: number;
};

/** A match that overlaps no other. */
export type Settled = SecretMatch & { secret: string };

/** Up to where a text is settled: the end of the last match, and of the last block that is taken out whole. */
export type Settlement = { done: number; blockEnd: number };

/** A longer block is taken out before its end is known. */
export const MAX_BLOCK = 65_536;

/**
 * Resolves overlaps: the match that begins first wins, then the longest, then the surest. What overlaps it loses that
 * part; what begins in a block of a private key goes with it.
 */
export function settle(text: string, matches: readonly SecretMatch[], progress: Settlement): Settled[] {
  const settled: Settled[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || b.end - a.end || a.layer - b.layer)) {
    const start = Math.max(match.start, progress.done);
    const isBlock = match.rule === 'private-key';
    if (match.end <= start || (match.start < progress.blockEnd && !isBlock)) continue;
    const known = start === match.start ? match.secret : undefined;
    const secret = known ?? text.slice(start, match.end);
    settled.push({ ...match, start, secret: isBlock ? secret.slice(0, MAX_BLOCK) : secret });
    progress.done = match.end;
    if (isBlock) progress.blockEnd = match.end;
  }
  return settled;
}
