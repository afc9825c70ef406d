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
  type Redacted,
  type Successor,
} from './schema-parts.ts';
import { fullUsageOrNull, isFullUsage, usageOrNull } from './usage.ts';
import type { Usage } from './usage.ts';

/** Who or what stopped a turn. */
export type SuspendCause = FirstCause | NewCause;

type FirstCause = 'agent' | 'invalid-reply' | 'limit' | 'timeout' | 'human' | 'child';
type NewCause = 'permission' | 'secret' | 'isolation' | 'gate';

const firstCauses: readonly FirstCause[] = ['agent', 'invalid-reply', 'limit', 'timeout', 'human', 'child'];
const newCauses: readonly NewCause[] = ['permission', 'secret', 'isolation', 'gate'];

export const suspendCauses: readonly SuspendCause[] = [...firstCauses, ...newCauses];

/** A turn that waits for a person. No step: it is not counted and nothing is decided from it. */
export type ThreadSuspend = {
  /** The role whose turn it is. */
  role: string;
  /** Why, for the person who is to answer. */
  reason: string;
  cause: SuspendCause;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** The last step; null if there is none yet. */
  previous: NodeHash | null;
  /** What the agent said before it stopped, a {@link Content}. */
  content: NodeHash | null;
  /** The {@link ReactSession}; null where the agent leaves no trace. */
  react: NodeHash | null;
  /** The {@link Attempt}s that did not count, oldest first. */
  attempts: NodeHash[];
  /** The {@link AgentRecord} that ran, or was about to. */
  agent: NodeHash;
  /** What the agent calls its own version or model, where it says. */
  agentVersion?: string;
  /** What the agent was told, a {@link Content}. */
  prompt: NodeHash;
  /** The place of the rule that gave the turn to this role; null where a person did. */
  rule: number | null;
  /** null where the agent reports nothing. */
  usage: Usage | null;
  /** When it makes sense to go on, in ms since 1970; absent where that does not depend on the time. */
  due?: number;
  redacted?: Redacted;
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
