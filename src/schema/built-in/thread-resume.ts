import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { moreLimits, type MoreLimits } from './limits.ts';
import { builtInObject, redacted, ref, refOrNull, timeMs, word, type Redacted } from './schema-parts.ts';
import { totalsSchema, type Totals } from './totals.ts';

/** A person's word that a suspended turn may go on, or that an ended thread is taken up again. */
export type ThreadResume = {
  /** What the commits before come to. */
  totals: Totals;
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

export const threadResumeSchema: JsonObject = builtInObject(
  'thread-resume',
  "A person's word that a suspended turn may go on, or that an ended thread is taken up again.",
  {
    totals: totalsSchema,
    suspension: ref('thread-suspend', 'thread-end'),
    answer: refOrNull('content'),
    start: ref('thread-start'),
    more: { ...moreLimits, minProperties: 1 },
    by: word,
    redacted,
    resumedAtMs: timeMs,
  },
  ['more', 'by', 'redacted'],
);
