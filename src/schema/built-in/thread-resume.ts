import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { limitBounds, type Limits } from './limits.ts';
import { builtInObject, closedObject, redacted, ref, refOrNull, timeMs, word, type Redacted } from './schema-parts.ts';

/** A person's word that a suspended turn may go on, or that an ended thread is taken up again. */
export type ThreadResume = {
  /** The {@link ThreadSuspend} that is answered, or the {@link ThreadEnd} that is gone on from. */
  suspension: NodeHash;
  /** What the person said, a {@link Content}; null for a mere go-ahead. */
  answer: NodeHash | null;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** How much more than its limits the thread may use from here on, by the name of the limit. */
  more?: MoreLimits;
  /** Who resumed the thread, as `name <email>` or the name of a program. */
  by?: string;
  redacted?: Redacted;
  /** In ms since 1970. */
  resumedAtMs: number;
};

/** The limits that count over a thread's life. */
export type CountedLimit = 'maxSteps' | 'maxVisits' | 'maxTurns' | 'maxTokens' | 'maxCostUsd';

/** What is added to limits that count over a thread's life. */
export type MoreLimits = Pick<Limits, CountedLimit>;

/** The names of the limits that count over a thread's life. */
export const countedLimits: readonly CountedLimit[] = ['maxSteps', 'maxVisits', 'maxTurns', 'maxTokens', 'maxCostUsd'];

const more: JsonObject = Object.fromEntries(countedLimits.map((name) => [name, limitBounds[name]]));

export const threadResumeSchema: JsonObject = builtInObject(
  'thread-resume',
  "A person's word that a suspended turn may go on, or that an ended thread is taken up again.",
  {
    suspension: ref('thread-suspend', 'thread-end'),
    answer: refOrNull('content'),
    start: ref('thread-start'),
    more: { ...closedObject(more, countedLimits), minProperties: 1 },
    by: word,
    redacted,
    resumedAtMs: timeMs,
  },
  ['more', 'by', 'redacted'],
);
