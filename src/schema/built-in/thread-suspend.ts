import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import {
  builtInObject,
  redacted,
  ref,
  refList,
  refOrNull,
  ruleOrNull,
  successorOf,
  anyText,
  timeMs,
  word,
  type Successor,
} from './schema-parts.ts';
import type { TurnRecord } from './thread-step.ts';
import { fullUsageOrNull, isFullUsage, usageOrNull } from './usage.ts';

/** Who or what stopped a turn. */
export type SuspendCause = FirstCause | NewCause;

type FirstCause = 'agent' | 'invalid-reply' | 'limit' | 'timeout' | 'human' | 'child';
type NewCause = 'permission' | 'secret' | 'isolation' | 'rule' | 'interrupted';

const firstCauses: readonly FirstCause[] = ['agent', 'invalid-reply', 'limit', 'timeout', 'human', 'child'];
const newCauses: readonly NewCause[] = ['permission', 'secret', 'isolation', 'rule', 'interrupted'];

export const suspendCauses: readonly SuspendCause[] = [...firstCauses, ...newCauses];

/** A turn that waits for a person. No step: it is not counted and nothing is decided from it. */
export type ThreadSuspend = TurnRecord & {
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
    role: word,
    reason: anyText,
    cause: { enum: [...firstCauses] },
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
    suspendedAtMs: timeMs,
  },
  ['agentVersion'],
);

export const threadSuspendSuccessor: Successor = successorOf(
  threadSuspendSchema,
  { due: timeMs, redacted },
  {
    properties: { cause: { enum: [...firstCauses, ...newCauses] }, usage: fullUsageOrNull },
    isNeeded: ({ cause, usage }) => newCauses.some((name) => name === cause) || isFullUsage(usage),
  },
);
