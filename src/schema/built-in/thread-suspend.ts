import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { anyText, builtInObject, redacted, ref, refList, refOrNull, ruleOrNull, timeMs, word } from './schema-parts.ts';
import { totalsSchema, type Totals } from './totals.ts';
import type { TurnRecord } from './thread-step.ts';
import { usageOrNull } from './usage.ts';

/** Why a turn was stopped. */
export const suspendCauses = [
  'agent',
  'invalid-reply',
  'limit',
  'timeout',
  'human',
  'child',
  'permission',
  'secret',
  'isolation',
  'rule',
  'interrupted',
  'usage-limit',
  'time-box',
] as const;

/** Why a turn was stopped: one of {@link suspendCauses}. */
export type SuspendCause = (typeof suspendCauses)[number];

/** A turn that waits for a person. No step: it is not counted and nothing is decided from it. */
export type ThreadSuspend = TurnRecord & {
  /** What the commits before come to. */
  totals: Totals;
  /** Why, for the person who is to answer. */
  reason: string;
  cause: SuspendCause;
  /** What the agent said before it stopped, a {@link Content}. */
  content: NodeHash | null;
  /** When it makes sense to go on, in ms since 1970; absent where that does not depend on the time. */
  due?: number;
  /** In ms since 1970. */
  suspendedAtMs: number;
};

export const threadSuspendSchema: JsonObject = builtInObject(
  'thread-suspend',
  'A turn that waits for a person, and why.',
  {
    totals: totalsSchema,
    role: word,
    reason: anyText,
    cause: { enum: [...suspendCauses] },
    start: ref('thread-start'),
    previous: refOrNull('thread-step'),
    content: refOrNull('content'),
    react: refOrNull('react-session'),
    attempts: refList('attempt'),
    agent: ref('agent'),
    agentVersion: anyText,
    prompt: ref('content'),
    rule: ruleOrNull,
    usage: usageOrNull,
    due: timeMs,
    redacted,
    suspendedAtMs: timeMs,
  },
  ['agentVersion', 'due', 'redacted'],
);
