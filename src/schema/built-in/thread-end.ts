import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { builtInObject, ref, refOrNull, timeMs } from './schema-parts.ts';
import { usageByRole, type UsageByRole } from './usage.ts';
import { totalsSchema, type Totals } from './totals.ts';

/** How a thread ended: by a rule, because it could not go on, or by a person. */
export type Outcome = 'completed' | 'failed' | 'cancelled';

/** The end of a thread. */
export type ThreadEnd = {
  /** What the commits before come to. */
  totals: Totals;
  outcome: Outcome;
  /** 0 completed, 1 failed, 130 cancelled, or what the rule that ended the thread says; at most 255. */
  returnCode: number;
  /** What came of it, a {@link Content}. */
  summary: NodeHash;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** The last {@link ThreadStep}; null if there was none. */
  lastStep: NodeHash | null;
  /** What the children of the turn have used that it cut off, by the roles that called them, of those that told any; absent if there are none. */
  leftUsage?: UsageByRole;
  /** In ms since 1970. */
  completedAtMs: number;
};

export const threadEndSchema: JsonObject = builtInObject(
  'thread-end',
  'The end of a thread, and what came of it.',
  {
    totals: totalsSchema,
    outcome: { enum: ['completed', 'failed', 'cancelled'] },
    returnCode: { type: 'integer', minimum: 0, maximum: 255 },
    summary: ref('content'),
    start: ref('thread-start'),
    lastStep: refOrNull('thread-step'),
    leftUsage: usageByRole,
    completedAtMs: timeMs,
  },
  ['leftUsage'],
);
